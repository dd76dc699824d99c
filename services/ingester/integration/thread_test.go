package integration

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

const open = "SELECT IF(delete_time IS NULL, 'live', 'closed') FROM model WHERE uid = ?"

func TestCreatePatchDelete(t *testing.T) {
	b := newEnv(t)
	b.start()

	project := b.object("Project", "growth")
	project.Object["spec"] = map[string]any{"description": "Growth", "tier": int64(2), "owner": map[string]any{"owningTeam": "t"}}
	b.create(project)
	b.row(project, "2 growth", "SELECT CONCAT_WS(' ', tier, name) FROM project WHERE uid = ? AND delete_time IS NULL")

	m := b.finalizer(b.create(b.model("churn")))
	b.row(m, "xgboost ada MODEL_KIND_BINARY_CLASSIFICATION churn",
		"SELECT CONCAT_WS(' ', algorithm, owner, model_kind, model_family_name) FROM model WHERE uid = ?")
	b.stored(m)
	b.events(m, "created")

	b.patch(m, `{"metadata":{"labels":{"tier":null,"stage":"prod"}},"spec":{"algorithm":"lightgbm"}}`)
	b.stored(m)
	b.row(m, "lightgbm", "SELECT algorithm FROM model WHERE uid = ?")
	b.row(m, "stage=prod,team=growth", "SELECT GROUP_CONCAT(CONCAT(`key`, '=', value) ORDER BY `key`) FROM model_labels WHERE obj_uid = ?")
	b.events(m, "created", "updated")

	b.delete(m)
	b.expectDeleted(m)
	b.row(m, "closed", open)
	b.row(m, "true", "SELECT IF(JSON_EXTRACT(json, '$.metadata.deletionTimestamp') IS NULL, 'false', 'true') FROM model WHERE uid = ?")
	b.events(m, "created", "updated", "deleted")
	b.events(project, "created")
	b.published()
}

func TestAnnotationDeletesWithoutTerminating(t *testing.T) {
	b := newEnv(t)
	b.start()
	m := b.finalizer(b.create(b.model("churn")))
	b.stored(m)
	seen := make(chan error, 1)
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(api.GroupVersion)
	list.SetKind("ModelList")
	w, err := client.NewWithWatch(restConfig(t), client.Options{Scheme: b.client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := w.Watch(t.Context(), list, client.InNamespace(b.namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	go func() {
		for e := range watcher.ResultChan() {
			u, ok := e.Object.(*unstructured.Unstructured)
			if ok && e.Type == "MODIFIED" && u.GetDeletionTimestamp() != nil {
				seen <- fmt.Errorf("%s was Terminating", u.GetName())
				return
			}
			if e.Type == "DELETED" {
				seen <- nil
				return
			}
		}
	}()
	b.patch(m, annotation(api.DeletingAnnotation))
	b.expectDeleted(m)
	b.row(m, "closed", open)
	b.events(m, "created", "deleted")
	if err := <-seen; err != nil {
		t.Error(err)
	}
}

func TestImmutableObjectStaysInMySQLOnly(t *testing.T) {
	b := newEnv(t)
	b.start()
	m := b.finalizer(b.create(b.model("churn")))
	b.stored(m)
	b.patch(m, annotation(api.ImmutableAnnotation))
	b.expectDeleted(m)
	b.row(m, "live evicted", "SELECT CONCAT_WS(' ', IF(delete_time IS NULL, 'live', 'closed'), IF(evict_time IS NULL, 'here', 'evicted')) FROM model WHERE uid = ?")
	b.row(m, "NULL", "SELECT COALESCE(JSON_EXTRACT(json, '$.metadata.finalizers[0]'), 'NULL') FROM model WHERE uid = ?")
	b.events(m, "created", "evicted")
}

// TestEvictedRowStaysLiveWithForeignFinalizer evicts an object that a foreign finalizer keeps Terminating.
func TestEvictedRowStaysLiveWithForeignFinalizer(t *testing.T) {
	b := newEnv(t)
	b.start()
	m := b.model("churn")
	m.SetFinalizers([]string{"example.com/other"})
	b.finalizer(b.create(m))
	b.stored(m)
	b.patch(m, annotation(api.ImmutableAnnotation))
	expect.Eventually(t, expect.Long, func() error {
		if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		if m.GetDeletionTimestamp() == nil {
			return fmt.Errorf("%s is not Terminating", m.GetName())
		}
		return nil
	})
	expect.Never(t, 500*time.Millisecond, func() error {
		if rows := dbtest.Strings(t, b.db, open, string(m.GetUID())); rows[0] != "live" {
			return fmt.Errorf("the row is %s", rows[0])
		}
		return nil
	})
	b.patch(m, `{"metadata":{"finalizers":[]}}`)
	b.expectDeleted(m)
	b.row(m, "live", open)
	b.events(m, "created", "evicted")
}

// TestKindLevelEvictionIsOptIn: Models are immutable by kind; without the flag they are not evicted.
func TestKindLevelEvictionIsOptIn(t *testing.T) {
	b := newEnv(t)
	stop := b.start()
	m := b.finalizer(b.create(b.model("churn")))
	b.stored(m)
	stop()
	b.start(evictImmutableKinds)
	b.expectDeleted(m)
	b.row(m, "live", open)
}

func TestRecreatedObjectReplacesLiveRow(t *testing.T) {
	b := newEnv(t)
	stop := b.start()
	first := b.finalizer(b.create(b.model("churn")))
	b.stored(first)
	stop()
	// While no ingester runs, the finalizer is removed by force, and the object is deleted and re-created.
	b.patch(first.DeepCopy(), `{"metadata":{"finalizers":null}}`)
	b.delete(first)
	b.expectDeleted(first)
	second := b.create(b.model("churn"))
	b.start()
	b.finalizer(second)
	b.stored(second)
	b.row(first, "closed", open)
	b.row(second, "live", open)
	b.events(second, "created", "deleted", "created")
}

func TestRestartSkipsUnchangedObjects(t *testing.T) {
	b := newEnv(t)
	stop := b.start()
	for i := range 20 {
		b.stored(b.finalizer(b.create(b.model(fmt.Sprintf("m%d", i)))))
	}
	stop()
	before := dbtest.Strings(t, b.db, "SELECT update_time FROM model ORDER BY uid")
	b.start()
	expect.Eventually(t, expect.Long, func() error {
		if n := b.counter("unchanged_total"); n < 20 {
			return fmt.Errorf("got %v unchanged objects, want 20", n)
		}
		return nil
	})
	after := dbtest.Strings(t, b.db, "SELECT update_time FROM model ORDER BY uid")
	for i := range before {
		if before[i] != after[i] {
			t.Fatalf("a row was written: %s became %s", before[i], after[i])
		}
	}
	if n := b.counter("upserts_total"); n != 0 {
		t.Errorf("%v rows were written", n)
	}
}

// TestRejectedObjectGetsEventAndBlocksNothing stores an object whose algorithm does not fit its column.
func TestRejectedObjectGetsEventAndBlocksNothing(t *testing.T) {
	b := newEnv(t)
	b.start()
	bad := b.model("bad")
	if err := unstructured.SetNestedField(bad.Object, fmt.Sprintf("%0300d", 1), "spec", "algorithm"); err != nil {
		t.Fatal(err)
	}
	b.create(bad)
	good := b.create(b.model("good"))
	b.stored(b.finalizer(good))
	expect.Eventually(t, expect.Long, func() error { return b.warned(bad, "spec.algorithm") })
	b.patch(b.finalizer(bad), `{"spec":{"algorithm":"short"}}`)
	b.stored(bad)
}

func TestAPIServerNamesInvalidField(t *testing.T) {
	b := newEnv(t)
	m := b.model("bad")
	if err := unstructured.SetNestedField(m.Object, "MODEL_KIND_NONE", "spec", "kind"); err != nil {
		t.Fatal(err)
	}
	err := b.client.Create(t.Context(), m)
	if !apierrors.IsInvalid(err) {
		t.Fatalf("error %v, want Invalid", err)
	}
	if want := "spec.kind"; !contains(err, want) {
		t.Errorf("error %v does not name %s", err, want)
	}
}

func TestDeletionSurvivesMySQLOutage(t *testing.T) {
	server := mysqltest.Private(t)
	b := newEnvOn(t, server.DSN())
	b.start()
	m := b.finalizer(b.create(b.model("churn")))
	b.stored(m)
	server.Stop()
	b.delete(m)
	expect.Eventually(t, expect.Long, func() error {
		if n := b.counter("errors_total"); n == 0 {
			return fmt.Errorf("no error was counted")
		}
		return nil
	})
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatalf("the object is not held: %v", err)
	}
	if m.GetDeletionTimestamp() == nil {
		t.Error("the object is not Terminating")
	}
	server.Start()
	b.expectDeleted(m)
	b.row(m, "closed", open)
	b.events(m, "created", "deleted")
}

func TestIngesterWaitsForMySQL(t *testing.T) {
	server := mysqltest.Private(t)
	dsn := server.DSN()
	server.Stop()
	b := newEnvOn(t, dsn)
	b.start()
	m := b.create(b.model("churn"))
	server.Start()
	b.finalizer(m)
	b.stored(m)
	b.events(m, "created")
}

func TestEventsSurviveNATSOutage(t *testing.T) {
	b := newEnv(t)
	b.start()
	m := b.finalizer(b.create(b.model("churn")))
	b.events(m, "created")
	b.nats.Stop()
	other := b.finalizer(b.create(b.model("other")))
	b.stored(other)
	b.patch(m, `{"spec":{"algorithm":"lightgbm"}}`)
	b.stored(m)
	b.delete(m)
	b.expectDeleted(m)
	b.row(m, "closed", open)
	if rows := dbtest.Strings(t, b.db, "SELECT COUNT(*) FROM outbox"); rows[0] != "3" {
		t.Errorf("%s events wait, want 3", rows[0])
	}
	b.nats.Start()
	b.events(m, "created", "updated", "deleted")
	b.events(other, "created")
}

// TestEventsSurviveRestart stops the ingester with events in the outbox.
func TestEventsSurviveRestart(t *testing.T) {
	b := newEnv(t)
	stop := b.start()
	m := b.finalizer(b.create(b.model("churn")))
	b.events(m, "created")
	b.nats.Stop()
	b.patch(m, `{"spec":{"algorithm":"a"}}`)
	b.stored(m)
	stop()
	b.nats.Start()
	b.start()
	b.events(m, "created", "updated")
}
