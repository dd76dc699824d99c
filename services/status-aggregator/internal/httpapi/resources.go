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
	items, err := a.view.List(f)
	if err != nil {
		return err
	}
	page, err := a.page(r.Context(), following(items, after), size)
	if err != nil {
		return err
	}
	return respond(w, page)
}

// following returns the sorted items after a resource.
func following(items []statusapi.Resource, after *statusapi.Resource) []statusapi.Resource {
	if after == nil {
		return items
	}
	i, found := slices.BinarySearchFunc(items, *after, readmodel.Compare)
	if found {
		i++
	}
	return items[i:]
}

// page returns the first of the sorted items that the caller may list. It reviews the permission for a namespace only if
// the caller may not list the kind in the whole cluster and the page is not full yet.
func (a *handlers) page(ctx context.Context, items []statusapi.Resource, size int) (statusapi.ResourceList, error) {
	c, groups := callerOf(ctx), byScope(items)
	out := statusapi.ResourceList{Items: []statusapi.Resource{}}
	kinds := map[scope]bool{}
	for _, group := range groups {
		kinds[scope{kind: group[0].Kind}] = true
	}
	kinds, err := a.allowedScopes(ctx, c, kinds)
	if err != nil {
		return out, err
	}
	for chunk := range slices.Chunk(groups, maxReviews) {
		namespaces := map[scope]bool{}
		for _, group := range chunk {
			if p := scopeOf(group[0]); !kinds[scope{kind: p.kind}] {
				namespaces[p] = true
			}
		}
		if namespaces, err = a.allowedScopes(ctx, c, namespaces); err != nil {
			return out, err
		}
		for _, group := range chunk {
			if p := scopeOf(group[0]); kinds[scope{kind: p.kind}] || namespaces[p] {
				out.Items = append(out.Items, group...)
			}
		}
		if len(out.Items) > size {
			out.Items, out.Continue = out.Items[:size], pageToken(out.Items[size-1])
			break
		}
	}
	return out, nil
}

func scopeOf(r statusapi.Resource) scope {
	return scope{namespace: r.Object.Namespace, kind: r.Kind}
}

// byScope splits sorted items into those of each scope.
func byScope(items []statusapi.Resource) [][]statusapi.Resource {
	var out [][]statusapi.Resource
	for start, i := 0, 1; i <= len(items); i++ {
		if i == len(items) || scopeOf(items[i]) != scopeOf(items[start]) {
			out = append(out, items[start:i])
			start = i
		}
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
