package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/munnerz/goautoneg"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// target is the kind, and possibly the object, that a request addresses.
type target struct {
	kind       *registry.Kind
	namespace  string // empty for all of them
	name       string // empty for a list
	parameters url.Values
}

func kindsByPlural(r *registry.Registry) map[string]*registry.Kind {
	kinds := map[string]*registry.Kind{}
	for _, k := range r.Kinds() {
		kinds[k.Plural] = k
	}
	return kinds
}

// target reads the path of a request.
func (a *handlers) target(r *http.Request) (target, error) {
	t := target{namespace: r.PathValue("namespace"), name: r.PathValue("name")}
	plural := r.PathValue("plural")
	kind, ok := a.kinds[plural]
	if !ok {
		return t, notFound(fmt.Sprintf("unknown resource %q of group %q, want one of %s", plural, api.Group, a.plurals()))
	}
	t.kind = kind
	for what, value := range map[string]string{"namespace": t.namespace, "name": t.name} {
		if problems := content.IsPathSegmentName(value); len(problems) > 0 {
			return t, apierrors.NewBadRequest(fmt.Sprintf("%s %q %s", what, value, strings.Join(problems, ", ")))
		}
	}
	return t, nil
}

func (a *handlers) plurals() string {
	var names []string
	for name := range a.kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// object returns an empty object of the kind, as storage requires it.
func (t target) object() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(t.kind.GVK())
	return u
}

func (t target) typeMeta() *metav1.TypeMeta {
	return &metav1.TypeMeta{APIVersion: api.GroupVersion, Kind: t.kind.Name}
}

func resource(k *registry.Kind) schema.GroupResource {
	if k == nil {
		return schema.GroupResource{Group: api.Group}
	}
	return schema.GroupResource{Group: api.Group, Resource: k.Plural}
}

// parameters reads the query. An unknown parameter is an error, as is one that is given twice.
func parameters(r *http.Request, known []string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, apierrors.NewBadRequest("the query cannot be read: " + err.Error())
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("unknown parameter %q, want %s", name, oneOf(known)))
		}
		if len(given) > 1 {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("parameter %q is given %d times", name, len(given)))
		}
	}
	return values, nil
}

func oneOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return "one of " + strings.Join(names, ", ")
}

// acceptable returns an error unless the caller accepts JSON.
func acceptable(r *http.Request) error {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if header == "" || goautoneg.Negotiate(header, []string{contentType}) != "" {
		return nil
	}
	return apierrors.NewGenericServerResponse(http.StatusNotAcceptable, r.Method, schema.GroupResource{}, "",
		"only "+contentType+" is served", 0, true)
}
