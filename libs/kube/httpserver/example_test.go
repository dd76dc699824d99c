package httpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
)

// A panic in a handler becomes a response in the service's error format, and the process continues.
func ExampleRecovered() {
	fail := func(w http.ResponseWriter, _ *http.Request, _ error) {
		httpserver.Write(w, http.StatusInternalServerError, "text/plain", []byte("see the log of the service"))
	}
	broken := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("index out of range") })

	answer := httptest.NewRecorder()
	httpserver.Recovered(fail, broken).ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", http.NoBody))
	fmt.Println(answer.Code, answer.Body)
	// Output: 500 see the log of the service
}
