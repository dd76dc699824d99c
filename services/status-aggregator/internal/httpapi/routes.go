package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/docs"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/page"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// View provides the data of responses. [readmodel.View] implements it.
type View interface {
	List(f readmodel.Filter) ([]statusapi.Resource, error)
	Detail(ctx context.Context, namespace string, kind contract.Kind, name string, events int) (statusapi.ResourceDetail, error)
}

// Authorizer authenticates and authorizes requests. [access.Authorizer] implements it.
type Authorizer interface {
	Authenticate(r *http.Request) (user.Info, error)
	Authorize(ctx context.Context, u user.Info, a access.Attributes) error
}

// handlers implements the operations.
type handlers struct {
	authorizer Authorizer
	view       View
	hub        *readmodel.Hub
	kinds      registry.Set
	clock      clock.WithTicker
	heartbeat  time.Duration
	metrics    *apiMetrics
	stopping   chan struct{} // closed when the server is about to stop
}

// route is one operation, always a GET.
type route struct {
	path    string
	respond func(*handlers, http.ResponseWriter, *http.Request) error
}

const routeEvents = statusapi.PathEvents

// routes lists all operations of the API except streams.
func routes() []route {
	return []route{
		{statusapi.PathResources, (*handlers).list},
		{statusapi.PathResource, (*handlers).one},
		{statusapi.PathOpenAPI, (*handlers).document},
	}
}

// minCompressSize is the minimum size in bytes of a compressed response.
const minCompressSize = 16 << 10

// apiPrefix is the path prefix under which every request requires a token.
const apiPrefix = "/api/"

// handler returns the handler of all paths with its middleware.
func (a *handlers) handler(c Config) (http.Handler, error) {
	observer, err := httpserver.NewObserver(httpserver.ObserverConfig{
		Log: c.Log, Clock: c.Clock, Namespace: metricsNamespace, Registerer: c.Registerer,
	})
	if err != nil {
		return nil, fmt.Errorf("register metrics of the API: %w", err)
	}
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressSize), gzhttp.ContentTypes([]string{contentJSON}))
	if err != nil {
		return nil, fmt.Errorf("set up compression: %w", err)
	}
	requests, streams := make(httpserver.Slots, c.Options.MaxRequests), make(httpserver.Slots, c.Options.MaxStreams)
	ofUser := httpserver.NewUserSlots(c.Options.MaxRequestsPerUser)
	bounded := func(h http.Handler) http.Handler {
		h = authenticated(a.authorizer, limitedPerUser(ofUser, "requests of one user", h))
		return compress(limited(requests, "requests", httpserver.Within(c.Options.RequestTimeout, h)))
	}
	mux := http.NewServeMux()
	for _, one := range routes() {
		mux.Handle("GET "+one.path, httpserver.WithRoute(one.path, bounded(a.respond(one.respond))))
	}
	events := limitedPerUser(httpserver.NewUserSlots(c.Options.MaxStreamsPerUser), "streams of one user", a.respond((*handlers).events))
	mux.Handle("GET "+routeEvents, httpserver.WithRoute(routeEvents, streaming(limited(streams, "streams", authenticated(a.authorizer, events)))))
	mux.Handle(apiPrefix, httpserver.WithRoute(httpserver.RouteOther, bounded(handleUnrouted(mux))))
	for path, h := range page.Handlers() {
		mux.Handle("GET "+path, httpserver.WithRoute(statusapi.PathPage, h))
	}
	mux.Handle("/", httpserver.WithRoute(httpserver.RouteOther, handleUnrouted(mux)))
	notStreams := otelhttp.WithFilter(func(r *http.Request) bool { return r.URL.Path != routeEvents })
	return otelhttp.NewHandler(observer.Observe(httpserver.Recovered(fail, mux)), "api", notStreams), nil
}

func (a *handlers) respond(f func(*handlers, http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f(a, w, r); err != nil {
			fail(w, r, err)
		}
	})
}

// document serves docs/openapi.yaml.
func (a *handlers) document(w http.ResponseWriter, r *http.Request) error {
	path := access.Attributes{Verb: verbGet, Path: statusapi.PathOpenAPI}
	if err := a.authorizer.Authorize(r.Context(), callerOf(r.Context()).Info, path); err != nil {
		return err
	}
	if _, err := parameters(r); err != nil {
		return err
	}
	httpserver.Write(w, http.StatusOK, contentYAML, docs.OpenAPI)
	return nil
}

// handleUnrouted responds to requests without a route: 405 if the path supports GET, otherwise 404.
func handleUnrouted(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		other := r.Clone(r.Context())
		other.Method = http.MethodGet
		if _, pattern := mux.Handler(other); strings.HasPrefix(pattern, "GET ") {
			w.Header().Set("Allow", "GET, HEAD")
			fail(w, r, &problem{status: http.StatusMethodNotAllowed, message: httpserver.KnownMethod(r.Method) + " is not supported here, only GET"})
			return
		}
		fail(w, r, notFound("nothing is served at %s; the API is described at %s", quote(r.URL.Path), statusapi.PathOpenAPI))
	})
}

func isNotFound(err error) bool { return errors.Is(err, readmodel.ErrNotFound) }
