package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
)

// list responds with a page of the resources that the caller may list.
func (a *handlers) list(w http.ResponseWriter, r *http.Request) error {
	values, err := parameters(r, statusapi.ParamNamespace, statusapi.ParamKind, statusapi.ParamCondition,
		statusapi.ParamLimit, statusapi.ParamContinue)
	if err != nil {
		return err
	}
	f, err := filter(a.kinds, values)
	if err != nil {
		return err
	}
	size, err := number(values, statusapi.ParamLimit, boundsList)
	if err != nil {
		return err
	}
	var after *statusapi.Resource
	if token := values.Get(statusapi.ParamContinue); token != "" {
		last, err := afterToken(token)
		if err != nil {
			return err
		}
		after = &last
	}
	if err := a.scope(r.Context(), callerOf(r.Context()), f); err != nil {
		return err
	}
	items, err := a.visible(r.Context(), f)
	if err != nil {
		return err
	}
	return respond(w, paginate(items, after, size))
}

// visible returns the sorted resources that match the filter and that the caller may list.
func (a *handlers) visible(ctx context.Context, f readmodel.Filter) ([]statusapi.Resource, error) {
	items, err := a.view.List(f)
	if err != nil {
		return nil, err
	}
	scopes := map[scope]bool{}
	for i := range items {
		scopes[scopeOf(items[i])] = true
	}
	allowed, err := a.allowedScopes(ctx, callerOf(ctx), scopes)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(items, func(r statusapi.Resource) bool { return !allowed[scopeOf(r)] }), nil
}

func scopeOf(r statusapi.Resource) scope {
	return scope{namespace: r.Object.Namespace, kind: r.Kind}
}

// paginate returns a page of the sorted items.
func paginate(items []statusapi.Resource, after *statusapi.Resource, size int) statusapi.ResourceList {
	if after != nil {
		i, found := slices.BinarySearchFunc(items, *after, readmodel.Compare)
		if found {
			i++
		}
		items = items[i:]
	}
	out := statusapi.ResourceList{Items: items}
	if len(items) > size {
		out.Items, out.Continue = items[:size], pageToken(items[size-1])
	}
	if out.Items == nil {
		out.Items = []statusapi.Resource{}
	}
	return out
}

// one responds with the details of one resource.
func (a *handlers) one(w http.ResponseWriter, r *http.Request) error {
	namespace, token, name := r.PathValue("namespace"), contract.Kind(r.PathValue("kind")), r.PathValue("name")
	kind, ok := a.kinds.Lookup(token)
	if !ok {
		return notFound("unknown kind %s, want one of %s", quote(string(token)), tokens(a.kinds))
	}
	for _, text := range []string{namespace, name} {
		if err := checkName(text); err != nil {
			return err
		}
	}
	// Authorize before the lookup, so that a rejection does not reveal whether the object exists.
	err := a.authorizer.Authorize(r.Context(), callerOf(r.Context()).Info, attributes(verbGet, kind, namespace, name))
	if err != nil {
		return err
	}
	values, err := parameters(r, statusapi.ParamLimit)
	if err != nil {
		return err
	}
	events, err := number(values, statusapi.ParamLimit, boundsHistory)
	if err != nil {
		return err
	}
	detail, err := a.view.Detail(r.Context(), namespace, token, name, events)
	if isNotFound(err) {
		return notFound("%s %s in the namespace %s does not exist", kind.GVK.Kind, quote(name), quote(namespace))
	}
	if err != nil {
		return err
	}
	return respond(w, detail)
}
