package httpserver

import (
	"context"
	"net/http"
)

// Exchange holds the values of one request for the log, the metrics and the span. Handlers fill it in.
type Exchange struct {
	http.ResponseWriter

	// Route is the pattern without the method, so that the number of series is fixed.
	Route string
	// User is the name of the caller.
	User string
	// Source is the source of the response; logged if [ObserverConfig.Sources] is set.
	Source string
	// Stream is true for a response that continues until one side ends it; it is not timed.
	Stream bool
	// Cause is the error of a response with a status of 500 or above, for the log only.
	Cause error

	code  int
	bytes int64
}

type exchangeKey struct{}

// ExchangeOf returns the exchange of a request; outside of [Observer.Observe] it is a discarded one.
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

// Unwrap returns the wrapped writer, for http.ResponseController.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WithRoute sets the route of the exchange.
func WithRoute(route string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ExchangeOf(r.Context()).Route = route
		next.ServeHTTP(w, r)
	})
}

// RouteOther is the route of requests that match none.
const RouteOther = "other"

// KnownMethod returns the method if it is a standard one, so that callers cannot invent labels.
func KnownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return RouteOther
}
