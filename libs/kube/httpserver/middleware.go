package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"
)

// Fail answers with an error, in the form that the service has for errors.
type Fail func(w http.ResponseWriter, r *http.Request, err error)

// Recovered turns a panic into an error, so that one request cannot end the process. Where
// the answer has begun, only the log has it.
func Recovered(fail Fail, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
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
		}()
		next.ServeHTTP(w, r)
	})
}

// Slots are how many requests are answered at the same time.
type Slots chan struct{}

// Limited lets so many requests in at the same time; the others are refused. Handlers with
// the same slots share them.
func Limited(slots Slots, refuse http.HandlerFunc, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			next.ServeHTTP(w, r)
		default:
			refuse(w, r)
		}
	})
}

// Within bounds how long a request may take.
func Within(timeout time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Write answers with a body that is already encoded. No answer is kept by caches or guessed at by browsers.
func Write(w http.ResponseWriter, code int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	if _, err := w.Write(body); err != nil {
		return // the caller is gone
	}
}
