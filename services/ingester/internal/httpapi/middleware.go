package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
)

// exchange is what the log, the metrics and the span say about one request. Handlers fill it in.
type exchange struct {
	http.ResponseWriter
	route  string // pattern without the method
	user   string
	source string // cluster or storage
	code   int
	bytes  int64
	cause  error // of an answer from 500 on, for the log only
}

type exchangeKey struct{}

// exchangeOf returns the exchange of a request; outside of observe it is one that nobody reads.
func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{}
}

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(code int) {
	if x.code == 0 {
		x.code = code
	}
	x.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(body []byte) (int, error) {
	if x.code == 0 {
		x.code = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(body)
	x.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// routeOther is the route of requests that match none.
const routeOther = "other"

// observe logs, counts and times requests. Neither headers nor queries are logged.
func observe(log logr.Logger, c clock.PassiveClock, m *apiMetrics, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{ResponseWriter: w, route: routeOther}
		begin := c.Now()
		m.inFlight.Inc()
		next.ServeHTTP(x, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
		m.inFlight.Dec()
		took := c.Since(begin)
		method := knownMethod(r.Method)
		m.requests.WithLabelValues(x.route, method, strconv.Itoa(x.code)).Inc()
		m.duration.WithLabelValues(x.route, method).Observe(took.Seconds())
		span := trace.SpanFromContext(r.Context())
		span.SetName(method + " " + x.route)
		span.SetAttributes(attribute.String("http.route", x.route), attribute.String("flotilla.source", x.source))
		x.log(log, r, took)
	})
}

// log writes one line for a request: changes and failures for everybody, reads at V(1).
func (x *exchange) log(log logr.Logger, r *http.Request, took time.Duration) {
	fields := []any{
		"method", r.Method, "path", r.URL.EscapedPath(), "code", x.code, "user", x.user,
		"source", x.source, "bytes", x.bytes, "milliseconds", took.Milliseconds(),
	}
	switch {
	case x.cause != nil:
		log.Info("Request failed", append(fields, "reason", x.cause.Error())...)
	case r.Method == http.MethodDelete:
		log.Info("Request answered", fields...)
	default:
		log.V(1).Info("Request answered", fields...)
	}
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return routeOther
}

// recovered turns a panic into a 500, so that one request cannot end the process that
// keeps the objects.
func recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			caught := recover()
			if caught == nil {
				return
			}
			x := exchangeOf(r.Context())
			x.cause = fmt.Errorf("panic: %v\n%s", caught, debug.Stack())
			if x.code == 0 {
				access.WriteError(w, apierrors.NewInternalError(errors.New("see the log of the ingester")))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// maxBody is the longest body of a request in bytes.
const maxBody = 1 << 20

// retrySoon is for callers who find too many others, in seconds.
const retrySoon = 1

// bounded limits how many requests are answered at the same time, how long one takes and
// how much it may send.
func bounded(requests int, timeout time.Duration, next http.Handler) http.Handler {
	slots := make(chan struct{}, requests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			access.WriteError(w, apierrors.NewTooManyRequests("too many requests at the same time, try again", retrySoon))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}
