package sweep

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/listing"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// incarnation returns the incarnation of the cluster. It fails if the newest incarnation in
// the database is that of another cluster, which then owns the rows.
func (s *Sweeper) incarnation(ctx context.Context) (int64, error) {
	uid, err := incarnation.ClusterUID(ctx, s.cfg.APIReader)
	if err != nil {
		return 0, err
	}
	own, newest, err := incarnation.Stored(ctx, s.cfg.DB, uid, "")
	switch {
	case err != nil:
		return 0, err
	case !own.Valid:
		return 0, fmt.Errorf("cluster not registered in the database: namespace %s has uid %s", metav1.NamespaceSystem, uid)
	case own.Int64 != newest:
		return 0, fmt.Errorf("another cluster was registered in the database since: incarnation %d, want %d", newest, own.Int64)
	}
	return newest, nil
}

// pageSize is the page size of lists.
const pageSize = 1000

// list calls f with the uid of every object of the kind, each namespace at one
// version, and returns the lowest of these versions.
func (s *Sweeper) list(ctx context.Context, kind *registry.Kind, f func(uid string)) (int64, error) {
	namespaces := s.cfg.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var lowest int64
	for i, namespace := range namespaces {
		version, err := s.listIn(ctx, kind, namespace, f)
		if err != nil {
			return 0, fmt.Errorf("list %s: %w", kind.Plural, err)
		}
		if i == 0 || version < lowest {
			lowest = version
		}
	}
	return lowest, nil
}

func (s *Sweeper) listIn(ctx context.Context, kind *registry.Kind, namespace string, f func(uid string)) (int64, error) {
	next := ""
	for {
		page := listing.NewList(kind)
		if err := s.cfg.APIReader.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next)); err != nil {
			return 0, err
		}
		for i := range page.Items {
			f(string(page.Items[i].GetUID()))
		}
		if next = page.GetContinue(); next != "" {
			continue
		}
		version, err := strconv.ParseInt(page.GetResourceVersion(), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse resource version %q: %w", page.GetResourceVersion(), err)
		}
		return version, nil
	}
}

// deleted reports whether the API server no longer has the object of the row: no object has its name, or
// another one has it.
func deleted(ctx context.Context, reader client.Reader, kind *registry.Kind, r rows.Row) (bool, error) {
	var object metav1.PartialObjectMetadata
	object.SetGroupVersionKind(kind.GVK())
	err := reader.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, &object)
	switch {
	case err == nil:
		return string(object.GetUID()) != r.UID, nil
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return true, nil // the object is not found, and the kind is served
	default:
		return false, fmt.Errorf("get %s %s/%s: %w", kind.Name, r.Namespace, r.Name, err)
	}
}
