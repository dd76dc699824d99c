package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
)

// exchange is what the log, the metrics and the span say about one request. Handlers fill it in.
type exchange struct {
	http.ResponseWriter
	route string // pattern without the method
	user  string
	code  int
	bytes int64
	cause error // of an answer from 500 on, for the log only
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
		next.ServeHTTP(x, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
		took := c.Since(begin)
		method := knownMethod(r.Method)
		m.requests.WithLabelValues(x.route, method, strconv.Itoa(x.code)).Inc()
		if x.route != routeEvents {
			m.duration.WithLabelValues(x.route, method).Observe(took.Seconds())
		}
		span := trace.SpanFromContext(r.Context())
		span.SetName(method + " " + x.route)
		span.SetAttributes(attribute.String("http.route", x.route))
		x.log(log, r, took)
	})
}

func (x *exchange) log(log logr.Logger, r *http.Request, took time.Duration) {
	fields := []any{
		"method", r.Method, "path", r.URL.EscapedPath(), "code", x.code, "user", x.user,
		"bytes", x.bytes, "milliseconds", took.Milliseconds(),
	}
	if x.cause != nil {
		log.Info("Request failed", append(fields, "reason", x.cause.Error())...)
		return
	}
	log.V(1).Info("Request answered", fields...)
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return routeOther
}

// recovered turns a panic into a 500, so that one request cannot end the process that
// writes the conditions.
func recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			caught := recover()
			if caught == nil {
				return
			}
			err := fmt.Errorf("panic: %v\n%s", caught, debug.Stack())
			if x := exchangeOf(r.Context()); x.code != 0 {
				x.cause = err
				return
			}
			fail(w, r, err)
		}()
		next.ServeHTTP(w, r)
	})
}

// limit lets so many requests in at the same time.
func limit(slots chan struct{}, what string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			next.ServeHTTP(w, r)
		default:
			fail(w, r, tooMany(what))
		}
	})
}

// within bounds how long a request may take.
func within(timeout time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// caller is who asks, and whether their token still counts.
type caller struct {
	user.Info
	again func(context.Context) error
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// authenticated lets only requests with a valid token through, without the token, so that
// nothing behind it can log or pass it on.
func authenticated(gate Gate, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := gate.Authenticate(r)
		if err != nil {
			fail(w, r, err)
			return
		}
		exchangeOf(r.Context()).user = u.GetName()
		with := r.Clone(context.Background()) // keeps the token for as long as a stream runs
		again := func(ctx context.Context) error {
			_, err := gate.Authenticate(with.WithContext(ctx))
			return err
		}
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller{Info: u, again: again}))
		r.Header = r.Header.Clone()
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}
