package httpapi

import (
	"fmt"
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
)

const (
	// maxBody is the longest body of a request in bytes.
	maxBody = 1 << 20
	// compressFrom is the minimum size of a compressed response in bytes.
	compressFrom = 16 << 10
	// retryAfterSeconds is the Retry-After value for too many concurrent requests, in seconds.
	retryAfterSeconds = 1
)

// withMiddleware wraps the routes in the middleware of every request.
func withMiddleware(c Config, routes http.Handler) (http.Handler, error) {
	observer, err := httpserver.NewObserver(httpserver.ObserverConfig{
		Log: c.Log, Clock: c.Clock, Namespace: metricsNamespace, Registerer: c.Registerer, Sources: true,
	})
	if err != nil {
		return nil, fmt.Errorf("register metrics of the API: %w", err)
	}
	inFlight, err := newInFlight(c.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register metrics of the API: %w", err)
	}
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(compressFrom), gzhttp.ContentTypes([]string{contentType}))
	if err != nil {
		return nil, fmt.Errorf("set up compression: %w", err)
	}
	limited := httpserver.Limited(make(httpserver.Slots, c.Options.MaxRequests), tooMany,
		httpserver.Within(c.Options.RequestTimeout, limitBody(c.Authorizer.Authenticated(limitedPerUser(c, routes)))))
	observed := observer.Observe(httpserver.Recovered(failEarly, compress(limited)))
	return otelhttp.NewHandler(promhttp.InstrumentHandlerInFlight(inFlight, observed), "api"), nil
}

// limitedPerUser limits the number of concurrent requests of one authenticated user.
func limitedPerUser(c Config, next http.Handler) http.Handler {
	user := func(r *http.Request) string { return userOf(r.Context()) }
	return httpserver.LimitedPerUser(httpserver.NewUserSlots(c.Options.MaxRequestsPerUser), user, tooManyOfUser, next)
}

func tooMany(w http.ResponseWriter, _ *http.Request) {
	access.WriteError(w, apierrors.NewTooManyRequests("too many requests at the same time, try again", retryAfterSeconds))
}

func tooManyOfUser(w http.ResponseWriter, _ *http.Request) {
	access.WriteError(w, apierrors.NewTooManyRequests("too many requests of one user at the same time, try again", retryAfterSeconds))
}

// failEarly responds with an error before the target of the request is resolved.
func failEarly(w http.ResponseWriter, r *http.Request, err error) { fail(w, r, target{}, err) }

// limitBody limits the size of a request body.
func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// metricsNamespace is the namespace of all metrics of the ingester.
const metricsNamespace = "flotilla_ingester"

// newInFlight returns the gauge of requests in flight.
func newInFlight(reg prometheus.Registerer) (prometheus.Gauge, error) {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: metricsNamespace, Subsystem: "api", Name: "requests_in_flight", Help: "HTTP API requests in flight.",
	})
	if reg == nil {
		return g, nil
	}
	return g, reg.Register(g)
}
