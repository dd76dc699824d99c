package integration

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

func (b *bench) object(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(api.GroupVersion)
	u.SetKind(kind)
	u.SetNamespace(b.namespace)
	u.SetName(name)
	return u
}

// model is a Model with three labels and two annotations.
func (b *bench) model(name string) *unstructured.Unstructured {
	u := b.object("Model", name)
	u.SetLabels(map[string]string{"team": "growth", "tier": "gold", "stage": "test"})
	u.SetAnnotations(map[string]string{"note": "Grüße", "ticket": "ML-1"})
	u.Object["spec"] = map[string]any{
		"algorithm": "xgboost", "trainingFramework": "spark", "kind": "MODEL_KIND_BINARY_CLASSIFICATION",
		"owner":       map[string]any{"name": "ada"},
		"modelFamily": map[string]any{"name": "churn"},
		"inputSchema": map[string]any{"schemaItems": []any{map[string]any{"name": "age", "dataType": "DATA_TYPE_INT"}}},
	}
	return u
}

func (b *bench) create(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	if err := b.client.Create(b.Context(), u); err != nil {
		b.Fatal(err)
	}
	return u
}

func (b *bench) patch(u *unstructured.Unstructured, patch string) *unstructured.Unstructured {
	b.Helper()
	if err := b.client.Patch(b.Context(), u, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		b.Fatal(err)
	}
	return u
}

func (b *bench) delete(u *unstructured.Unstructured) {
	b.Helper()
	if err := b.client.Delete(b.Context(), u); err != nil {
		b.Fatal(err)
	}
}

// annotation returns a patch that sets one of our annotations.
func annotation(name string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, name)
}

// row waits until a query for one text gives what is wanted. The query's only parameter is the object's uid.
func (b *bench) row(u *unstructured.Unstructured, want, query string) {
	b.Helper()
	expect.Eventually(b, expect.Long, func() error {
		rows, err := b.query(query, string(u.GetUID()))
		if err != nil {
			return err
		}
		if len(rows) != 1 || rows[0] != want {
			return fmt.Errorf("row of %s: %q, want %q", u.GetName(), rows, want)
		}
		return nil
	})
}

// query runs a query with one text column; unlike dbtest.Strings it survives a server that is away.
func (b *bench) query(query string, args ...any) ([]string, error) {
	if err := b.db.PingContext(b.Context()); err != nil {
		return nil, err
	}
	var tables int
	if err := b.db.QueryRowContext(b.Context(), "SELECT COUNT(*) FROM information_schema.tables"+
		" WHERE table_schema = DATABASE() AND table_name = 'incarnation'").Scan(&tables); err != nil || tables == 0 {
		return nil, fmt.Errorf("no schema yet: %w", err)
	}
	return dbtest.Strings(b, b.db, query, args...), nil
}

// finalizer waits until the object carries our finalizer, and reads it.
func (b *bench) finalizer(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	expect.Eventually(b, expect.Long, func() error {
		if err := b.client.Get(b.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if !slices.Contains(u.GetFinalizers(), api.IngesterFinalizer) {
			return fmt.Errorf("finalizers are %v", u.GetFinalizers())
		}
		return nil
	})
	return u
}

// gone waits until the object is gone from the cluster.
func (b *bench) gone(u *unstructured.Unstructured) {
	b.Helper()
	expect.Gone(b, b.client, u.DeepCopy())
}

// events waits until the stream holds exactly these operations for an object, in this order.
func (b *bench) events(u *unstructured.Unstructured, want ...string) {
	b.Helper()
	expect.Eventually(b, expect.Long, func() error {
		all, err := b.changes()
		if err != nil {
			return err
		}
		var got []string
		for _, e := range all {
			parts := strings.Fields(e)
			if parts[0] == u.GetKind() && parts[1] == u.GetName() {
				got = append(got, parts[2])
			}
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("events of %s: %v, want %v", u.GetName(), got, want)
		}
		return nil
	})
}

// stored waits until MySQL has the version that u holds.
func (b *bench) stored(u *unstructured.Unstructured) {
	b.Helper()
	b.row(u, u.GetResourceVersion(), "SELECT res_version FROM "+strings.ToLower(u.GetKind())+" WHERE uid = ?")
}
