package sweep

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// deleted reports whether the API server no longer has the object of the row: no object has its name, or
// another one has it.
func deleted(ctx context.Context, reader client.Reader, kind *registry.Kind, r rows.Row) (bool, error) {
	var object metav1.PartialObjectMetadata
	object.SetGroupVersionKind(kind.GVK())
	err := reader.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, &object)
	switch {
	case err == nil:
		return string(object.GetUID()) != r.UID, nil
	case listing.NoObject(err):
		return true, nil
	default:
		return false, fmt.Errorf("get %s %s/%s: %w", kind.Name, r.Namespace, r.Name, err)
	}
}
