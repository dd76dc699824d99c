package integration

import (
	"fmt"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/app"
)

func evictImmutableKinds(o *app.Options) { o.EvictImmutableKinds = true }

func restConfig(t testing.TB) *rest.Config {
	t.Helper()
	return rest.CopyConfig(cluster.Get(t).Config)
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

// warned reports whether the object has a warning event that names the field.
func (b *env) warned(u *unstructured.Unstructured, field string) error {
	var list eventsv1.EventList
	if err := b.client.List(b.Context(), &list, client.InNamespace(b.namespace)); err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.Regarding.UID == u.GetUID() && e.Reason == "StorageRejected" && strings.Contains(e.Note, field) {
			return nil
		}
	}
	return fmt.Errorf("none of %d events names %s", len(list.Items), field)
}
