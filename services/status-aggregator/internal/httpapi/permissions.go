package httpapi

import (
	"context"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/access"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// maxReviews bounds the concurrent access reviews of one request: half of those of the process, so that a request
// leaves room for others.
const maxReviews = 8

// Verbs of the API server.
const (
	verbGet  = "get"
	verbList = "list"
)

// scope is a kind and a namespace to authorize.
type scope struct {
	namespace string // empty: in the whole cluster
	kind      contract.Kind
}

func attributes(verb string, kind registry.Kind, namespace, name string) access.Attributes {
	return access.Attributes{
		Verb: verb, Group: kind.GVK.Group, Version: kind.GVK.Version, Resource: kind.Resource, Namespace: namespace, Name: name,
	}
}

// mayList reports whether the caller may list a kind in a namespace. It checks the
// cluster-wide permission first, which covers every namespace.
func (a *handlers) mayList(ctx context.Context, c caller, p scope) (bool, error) {
	ok, err := a.review(ctx, c, scope{kind: p.kind})
	if ok || err != nil || p.namespace == "" {
		return ok, err
	}
	return a.review(ctx, c, p)
}

// review reports whether the caller has the permission for exactly this scope.
func (a *handlers) review(ctx context.Context, c caller, p scope) (bool, error) {
	kind, ok := a.kinds.Lookup(p.kind)
	if !ok {
		return false, nil
	}
	err := a.authorizer.Authorize(ctx, c.Info, attributes(verbList, kind, p.namespace, ""))
	if isForbidden(err) {
		return false, nil
	}
	return err == nil, err
}

func isForbidden(err error) bool { return apierrors.IsForbidden(err) }

// allowedScopes returns the scopes for which the caller has exactly this permission.
func (a *handlers) allowedScopes(ctx context.Context, c caller, scopes map[scope]bool) (map[scope]bool, error) {
	var mu sync.Mutex
	out := map[scope]bool{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxReviews)
	for p := range scopes {
		g.Go(func() error {
			ok, err := a.review(ctx, c, p)
			if ok {
				mu.Lock()
				defer mu.Unlock()
				out[p] = true
			}
			return err
		})
	}
	return out, g.Wait()
}

// scope rejects callers who may list none of the objects that the filter selects. A filter without a
// namespace is never rejected: objects that the caller may not list are omitted.
func (a *handlers) scope(ctx context.Context, c caller, f readmodel.Filter) error {
	if f.Namespace == "" {
		return nil
	}
	var refusal error
	for _, kind := range a.kinds.Kinds() {
		if f.Kind != "" && f.Kind != kind.Token {
			continue
		}
		err := a.authorizer.Authorize(ctx, c.Info, attributes(verbList, kind, f.Namespace, ""))
		if !isForbidden(err) {
			return err
		}
		refusal = err
	}
	if f.Kind == "" {
		return &problem{status: http.StatusForbidden, message: "forbidden: no managed kind may be listed in the namespace " + quote(f.Namespace)}
	}
	return refusal
}
