package httpserver

import (
	"context"
	"net/http"
)

// Exchange is what the log, the metrics and the span say about one request. Handlers fill it in.
type Exchange struct {
	http.ResponseWriter

	// Route is the pattern without the method, so that the number of series is fixed.
	Route string
	// User is who asks.
	User string
	// Source is where the answer comes from; logged where [ObserverConfig.Sources] is set.
	Source string
	// Stream says that the answer goes on until somebody ends it; it is not timed.
	Stream bool
	// Cause of an answer from 500 on, for the log only.
	Cause error

	code  int
	bytes int64
}

type exchangeKey struct{}

// ExchangeOf returns the exchange of a request; outside of [Observer.Observe] it is one that nobody reads.
func ExchangeOf(ctx context.Context) *Exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return &Exchange{}
}

// WriteHeader implements http.ResponseWriter.
func (x *Exchange) WriteHeader(code int) {
	if x.code == 0 {
		x.code = code
	}
	x.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (x *Exchange) Write(body []byte) (int, error) {
	if x.code == 0 {
		x.code = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(body)
	x.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// Noted tells the exchange which route it is about.
func Noted(route string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ExchangeOf(r.Context()).Route = route
		next.ServeHTTP(w, r)
	})
}

// RouteOther is the route of requests that match none.
const RouteOther = "other"

// KnownMethod returns the method if HTTP knows it, so that callers cannot make up labels.
func KnownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return RouteOther
}
