package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/docs"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// handlers serve requests.
type handlers struct {
	authorizer *access.Authorizer
	cluster    Cluster
	store      Store
	kinds      map[string]*registry.Kind // by plural
}

// Paths. A path in a namespace, followed by a name, is the path of one object.
const (
	root          = "/apis/" + api.GroupVersion
	pathNamespace = root + "/namespaces/{namespace}/{plural}"
	pathObject    = pathNamespace + "/{name}"
	pathCluster   = root + "/{plural}"
	pathOpenAPI   = "/openapi/v3"
	suffixQuery   = "/query"
)

// route is one operation.
type route struct {
	method, path string
	// verb is the verb that the caller needs permission for.
	verb string
	// parameters are the query parameters that the operation supports.
	parameters []string
	answer     func(*handlers, http.ResponseWriter, *http.Request, target) error
}

// routes returns all operations on objects.
func routes() []route {
	return []route{
		{http.MethodGet, pathObject, "get", nil, (*handlers).get},
		{http.MethodGet, pathNamespace, "list", listParameters, (*handlers).list},
		{http.MethodGet, pathCluster, "list", listParameters, (*handlers).list},
		{http.MethodPost, pathNamespace + suffixQuery, "list", queryParameters, (*handlers).query},
		{http.MethodPost, pathCluster + suffixQuery, "list", queryParameters, (*handlers).query},
		{http.MethodDelete, pathObject, "delete", deleteParameters, (*handlers).deleteOne},
		{http.MethodDelete, pathNamespace, "deletecollection", deleteCollectionParameters, (*handlers).deleteCollection},
		{http.MethodDelete, pathCluster, "deletecollection", deleteCollectionParameters, (*handlers).rejectDelete},
	}
}

// handler returns the handler of the whole API.
func (a *handlers) handler(c Config) (http.Handler, error) {
	document, err := yaml.YAMLToJSONStrict(docs.OpenAPI)
	if err != nil {
		return nil, fmt.Errorf("read docs/openapi.yaml: %w", err)
	}
	mux := http.NewServeMux()
	for _, rt := range routes() {
		mux.Handle(rt.method+" "+rt.path, a.route(rt))
	}
	mux.Handle(http.MethodGet+" "+pathOpenAPI, a.withExchange(pathOpenAPI, c.Authorizer.Authorized(
		access.Attributes{Verb: "get", Path: pathOpenAPI},
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			httpserver.Write(w, http.StatusOK, contentType, document)
		}))))
	mux.Handle("/", a.withExchange(httpserver.RouteOther, unrouted(mux)))
	return withMiddleware(c, mux)
}

// withExchange records the route and the user of a request in its exchange.
func (a *handlers) withExchange(path string, next http.Handler) http.Handler {
	return httpserver.WithRoute(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, ok := access.UserFrom(r.Context()); ok {
			httpserver.ExchangeOf(r.Context()).User = u.GetName()
		}
		next.ServeHTTP(w, r)
	}))
}

// route resolves the target of a request, authorizes the caller and serves the request.
func (a *handlers) route(rt route) http.Handler {
	return a.withExchange(rt.path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, err := a.target(r)
		if err == nil {
			err = a.authorizer.AuthorizeRequest(r.Context(), access.Attributes{
				Verb: rt.verb, Group: api.Group, Version: api.Version,
				Resource: t.kind.Plural, Namespace: t.namespace, Name: t.name,
			})
		}
		if err == nil {
			t.parameters, err = parameters(r, rt.parameters)
		}
		if err == nil {
			err = acceptable(r)
		}
		if err == nil {
			err = rt.answer(a, w, r, t)
		}
		if err != nil {
			fail(w, r, t, err)
		}
	}))
}

// unrouted responds to requests without a route: 405 if another method is served, else 404.
func unrouted(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := mux.Handler(other); pattern != "/" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			access.WriteError(w, notFound(fmt.Sprintf("nothing is served at %q; objects are at %s, %s and %s",
				r.URL.Path, pathObject, pathNamespace, pathCluster)))
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		err := apierrors.NewMethodNotSupported(resource(nil), strings.ToLower(r.Method))
		err.ErrStatus.Message = fmt.Sprintf("%s is not supported here, only %s", httpserver.KnownMethod(r.Method), strings.Join(allowed, " and "))
		access.WriteError(w, err)
	})
}

func notFound(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: message,
	}}
}
