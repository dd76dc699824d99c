package load

import (
	"encoding/json"
	"net/http"
)

// Control serves what the runner asks of an asker:
//
//	GET  /healthz           that it runs
//	GET  /counts            the figures of each phase as JSON
//	POST /phase?name=NAME   begin a phase; the same answer as /counts
//	POST /reset?name=NAME   forget everything and begin a phase
func Control(tally *Tally) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) { answer(w, tally) })
	mux.HandleFunc("POST /phase", named(tally, tally.Phase))
	mux.HandleFunc("POST /reset", named(tally, tally.Reset))
	return mux
}

func named(tally *Tally, do func(string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("name")
		if name == "" {
			http.Error(w, "the parameter name is missing", http.StatusBadRequest)
			return
		}
		do(name)
		answer(w, tally)
	}
}

func answer(w http.ResponseWriter, tally *Tally) {
	w.Header().Set("Content-Type", "application/json")
	// The runner went away when this fails; it asks again.
	_ = json.NewEncoder(w).Encode(tally.Figures()) //nolint:errcheck // see above
}
