package integration

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

func (b *env) object(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(api.GroupVersion)
	u.SetKind(kind)
	u.SetNamespace(b.namespace)
	u.SetName(name)
	return u
}

// model returns a Model with three labels and two annotations.
func (b *env) model(name string) *unstructured.Unstructured {
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

func (b *env) create(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	if err := b.client.Create(b.Context(), u); err != nil {
		b.Fatal(err)
	}
	return u
}

func (b *env) patch(u *unstructured.Unstructured, patch string) *unstructured.Unstructured {
	b.Helper()
	if err := b.client.Patch(b.Context(), u, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		b.Fatal(err)
	}
	return u
}

func (b *env) delete(u *unstructured.Unstructured) {
	b.Helper()
	if err := b.client.Delete(b.Context(), u); err != nil {
		b.Fatal(err)
	}
}

// annotation returns a patch that sets one of our annotations.
func annotation(name string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, name)
}

// row waits until a query for one text returns the expected value. The query's only parameter is the object's uid.
func (b *env) row(u *unstructured.Unstructured, want, query string) {
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

// query runs a query with one text column; unlike dbtest.Strings it survives a server
// that is unavailable and a schema that is not complete yet.
func (b *env) query(query string, args ...any) ([]string, error) {
	var rows []sql.NullString
	if err := sqlx.SelectContext(b.Context(), sqlx.NewDb(b.db, "mysql"), &rows, query, args...); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.String)
	}
	return out, nil
}

// finalizer waits until the object carries our finalizer, and reads it.
func (b *env) finalizer(u *unstructured.Unstructured) *unstructured.Unstructured {
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

// expectDeleted waits until the cluster no longer has the object.
func (b *env) expectDeleted(u *unstructured.Unstructured) {
	b.Helper()
	expect.Deleted(b, b.client, u.DeepCopy())
}

// events waits until the stream holds exactly these operations for an object, in this order.
func (b *env) events(u *unstructured.Unstructured, want ...string) {
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

// published waits until every event that was committed is in the stream.
func (b *env) published() {
	b.Helper()
	expect.Eventually(b, expect.Long, func() error {
		rows, err := b.query("SELECT COUNT(*) FROM outbox")
		if err != nil || rows[0] != "0" {
			return fmt.Errorf("outbox holds %v rows: %w", rows, err)
		}
		return nil
	})
}

// stored waits until MySQL has the version of u.
func (b *env) stored(u *unstructured.Unstructured) {
	b.Helper()
	b.row(u, u.GetResourceVersion(), "SELECT res_version FROM "+strings.ToLower(u.GetKind())+" WHERE uid = ?")
}
