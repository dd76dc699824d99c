package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"
)

// Fail writes an error response in the service's format.
type Fail func(w http.ResponseWriter, r *http.Request, err error)

// Recovered turns a panic into an error, so that one request cannot crash the process. If
// the response has started, only the log has the error.
func Recovered(fail Fail, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer handlePanic(w, r, fail)
		next.ServeHTTP(w, r)
	})
}

// handlePanic must be the deferred function: recover returns nil in a function that it calls.
func handlePanic(w http.ResponseWriter, r *http.Request, fail Fail) {
	caught := recover()
	if caught == nil {
		return
	}
	err := fmt.Errorf("panic: %v\n%s", caught, debug.Stack())
	if x := ExchangeOf(r.Context()); x.code != 0 {
		x.Cause = err
		return
	}
	fail(w, r, err)
}

// Slots limit the number of concurrent requests.
type Slots chan struct{}

// Limited serves as many concurrent requests as there are slots and rejects the others.
// Handlers with the same slots share them.
func Limited(slots Slots, reject http.HandlerFunc, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			next.ServeHTTP(w, r)
		default:
			reject(w, r)
		}
	})
}

// Within sets a timeout for each request.
func Within(timeout time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Write writes an encoded response body. Its headers disable caching and content sniffing.
func Write(w http.ResponseWriter, code int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	if _, err := w.Write(body); err != nil {
		return // the caller has disconnected
	}
}
