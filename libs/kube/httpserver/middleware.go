package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
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

// withDeadlines sets the deadlines of one request, whose body no handler reads.
func withDeadlines(timeout time.Duration, log logr.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control, now := http.NewResponseController(w), clock.RealClock{}.Now() // a connection has no other clock
		err := control.SetWriteDeadline(now.Add(2 * timeout))
		if r.ContentLength != 0 {
			err = errors.Join(err, control.SetReadDeadline(now.Add(timeout)))
			// net/http reads the body before it sends a response, unless it closes the connection afterwards.
			if r.ProtoMajor == 1 {
				w.Header().Set("Connection", "close")
			}
		}
		if err != nil {
			log.V(1).Info("Failed to set deadlines of the request", "reason", err.Error())
		}
		next.ServeHTTP(w, r)
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
