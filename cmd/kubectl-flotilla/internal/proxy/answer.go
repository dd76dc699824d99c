package proxy

import (
	"encoding/json"
	"net/http"

	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// writeError sends an error in the format of the API, so that the page can show it.
func writeError(w http.ResponseWriter, status int, code, message string) {
	body, err := json.Marshal(statusapi.Error{Code: code, Message: message})
	if err != nil {
		http.Error(w, message, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if _, err := w.Write(append(body, '\n')); err != nil {
		return // the browser closed the connection
	}
}
