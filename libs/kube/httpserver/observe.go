package httpserver

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"
)

// ObserverConfig configures an [Observer].
type ObserverConfig struct {
	Log   logr.Logger
	Clock clock.PassiveClock
	// Namespace of the metrics.
	Namespace string
	// Registerer takes the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	// Sources enables the source of a response in the log and the span.
	Sources bool
}

// Observer logs, counts and times requests. Neither headers nor queries are logged.
type Observer struct {
	ObserverConfig

	requests *prometheus.CounterVec   // route, method, code
	duration *prometheus.HistogramVec // route, method; streams left out
}

// NewObserver registers the metrics. Routes are patterns, so their number is fixed.
func NewObserver(c ObserverConfig) (*Observer, error) {
	const subsystem = "api"
	o := &Observer{
		ObserverConfig: c,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: c.Namespace, Subsystem: subsystem, Name: "requests_total", Help: "Total number of requests to the HTTP API.",
		}, []string{"route", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: c.Namespace, Subsystem: subsystem, Name: "request_duration_seconds", Help: "Duration of requests to the HTTP API, streams excluded.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"route", "method"}),
	}
	if c.Registerer == nil {
		return o, nil
	}
	return o, errors.Join(c.Registerer.Register(o.requests), c.Registerer.Register(o.duration))
}

// Observe returns the outermost handler of the chain.
func (o *Observer) Observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &Exchange{ResponseWriter: w, Route: RouteOther}
		start := o.Clock.Now()
		next.ServeHTTP(x, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
		duration := o.Clock.Since(start)
		method := KnownMethod(r.Method)
		o.requests.WithLabelValues(x.Route, method, strconv.Itoa(x.code)).Inc()
		if !x.Stream {
			o.duration.WithLabelValues(x.Route, method).Observe(duration.Seconds())
		}
		span := trace.SpanFromContext(r.Context())
		span.SetName(method + " " + x.Route)
		span.SetAttributes(attribute.String("http.route", x.Route))
		if o.Sources {
			span.SetAttributes(attribute.String("flotilla.source", x.Source))
		}
		o.log(x, r, duration)
	})
}

// log writes one line for a request: deletions and failures at V(0), the others at V(1).
func (o *Observer) log(x *Exchange, r *http.Request, duration time.Duration) {
	fields := []any{"method", r.Method, "path", r.URL.EscapedPath(), "code", x.code, "user", x.User}
	if o.Sources {
		fields = append(fields, "source", x.Source)
	}
	fields = append(fields, "bytes", x.bytes, "milliseconds", duration.Milliseconds())
	switch {
	case x.Cause != nil:
		o.Log.Info("Request failed", append(fields, "reason", x.Cause.Error())...)
	case r.Method == http.MethodDelete:
		o.Log.Info("Served request", fields...)
	default:
		o.Log.V(1).Info("Served request", fields...)
	}
}
