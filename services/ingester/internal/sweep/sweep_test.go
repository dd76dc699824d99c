package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

func TestSweepClosesOrphanedRowsOnly(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			w := newWorldOn(t, mysqltest.DSNOf(t, vendor))
			models := w.stored("Model", "a", "b", "c")
			projects := w.stored("Project", "p", "q")
			w.remove(models[1], projects[0])
			w.swept()
			w.liveRows("model", "a", "c")
			w.liveRows("project", "q")
			if diff := cmp.Diff([]string{"model b", "project p"}, w.deletions()); diff != "" {
				t.Errorf("deletions (-want +got):\n%s", diff)
			}
			if n := w.metric("orphans_closed_total"); n != 2 {
				t.Errorf("%v orphans are counted", n)
			}
			if w.metric("sweep_last_success_timestamp_seconds") == 0 {
				t.Error("no success is counted")
			}
			w.swept()
			if n := w.metric("orphans_closed_total"); n != 0 {
				t.Errorf("%v orphans of a second sweep", n)
			}
		})
	}
}

func TestSweepSkipsKindsWithoutRows(t *testing.T) {
	w := newWorld(t)
	w.stored("Project", "p")
	w.swept()
	if n := w.live.requests.Load(); n != 2 {
		t.Errorf("%d requests, want one for the cluster and one list", n)
	}
}

func TestSweepClosesRowOfReplacedObject(t *testing.T) {
	w := newWorld(t)
	former := w.stored("Model", "a", "b")[0]
	w.remove(former)
	again := object("Model", w.namespace, "a")
	if err := w.client.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.swept() // the new object is not stored yet
	w.liveRows("model", "b")
	if err := w.store.Upsert(t.Context(), again, false, nil); err != nil {
		t.Fatal(err)
	}
	w.swept()
	w.liveRows("model", "a", "b")
}

func TestSweepKeepsEvictedRows(t *testing.T) {
	w := newWorld(t)
	models := w.stored("Model", "evicted", "now", "there")
	if err := w.store.Evict(t.Context(), models[0]); err != nil {
		t.Fatal(err)
	}
	w.remove(models[0])
	// The second object is evicted, in the stored version, while the sweep checks it.
	w.remove(models[1])
	looked := false
	w.live.get = func(string, client.ObjectKey) error {
		looked = true
		return w.store.Evict(t.Context(), models[1])
	}
	w.swept()
	if !looked {
		t.Error("the row was not checked")
	}
	w.liveRows("model", "evicted", "now", "there")
}

func TestSweepKeepsConcurrentlyChangedRow(t *testing.T) {
	w := newWorld(t)
	w.remove(w.stored("Model", "a", "b")[0])
	w.cfg.Close = func(ctx context.Context, kind *registry.Kind, orphans []rows.Row) ([]writer.Outcome, error) {
		w.exec("UPDATE model SET res_version = res_version + 1 WHERE name = 'a'") //nolint:contextcheck // another process writes
		return w.store.CloseRows(ctx, kind, orphans)
	}
	w.swept()
	w.liveRows("model", "a", "b")
	if n := w.metric("orphans_closed_total"); n != 0 {
		t.Errorf("%v orphans are counted", n)
	}
}

func TestSweepConfirmsObjectsMissingFromList(t *testing.T) {
	w := newWorld(t)
	w.stored("Model", "a", "b")
	w.live.list = func(list client.ObjectList, _ *client.ListOptions) error {
		page := list.(*metav1.PartialObjectMetadataList)
		page.Items = page.Items[1:]
		return nil
	}
	w.swept()
	w.liveRows("model", "a", "b")
}

func TestSweepAbortsOnTooManyOrphans(t *testing.T) {
	w := newWorld(t)
	w.stored("Model", "a")
	w.invented(manyRows + 1)
	w.aborts("Model", threshold)
	if n := len(w.deletions()); n != 0 {
		t.Errorf("%d rows were closed", n)
	}
	if n := w.metric("orphans", "Model"); n != manyRows+1 {
		t.Errorf("%v orphans are shown", n)
	}
	if event := <-w.events.Events; !strings.Contains(event, "Warning SweepAborted") || !strings.Contains(event, "verify --repair --force") {
		t.Errorf("event %q", event)
	}
	w.cfg.Events = w.recorder()
	w.aborts("Model", threshold)
	expect.Eventually(t, expect.Long, func() error {
		var list eventsv1.EventList
		if err := w.client.List(t.Context(), &list); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "SweepAborted" && e.Regarding.Kind == "CustomResourceDefinition" && e.Regarding.Name == "models.michelangelo.api" {
				return nil
			}
		}
		return fmt.Errorf("none of %d events is ours", len(list.Items))
	})
	w.exec("DELETE FROM model WHERE res_version = 1 LIMIT 1")
	w.swept()
	w.liveRows("model", "a")
}

func TestSweepAbortsOnEmptyCluster(t *testing.T) {
	w := newWorld(t)
	w.invented(fewRows + 1)
	w.aborts("Model", empty)
	if n := len(w.deletions()); n != 0 {
		t.Errorf("%d rows were closed", n)
	}
}

func TestSweepAbortsOnOtherCluster(t *testing.T) {
	w := newWorld(t)
	w.remove(w.stored("Model", "a")...)
	for _, change := range []string{
		"INSERT INTO incarnation (cluster_uid, incarnation, raised_at) VALUES ('newer', 2, '2026-01-01')",
		"DELETE FROM incarnation WHERE incarnation = 1",
	} {
		w.exec(change)
		w.aborts("Model", otherCluster)
		w.liveRows("model", "a")
	}
}

func TestSweepAbortsOnRestoredCluster(t *testing.T) {
	w := newWorld(t)
	gone := w.stored("Model", "a", "b")[0]
	w.remove(gone)
	w.exec("UPDATE model SET res_version = 1000000000 WHERE name = 'b'")
	w.aborts("Model", older)
	w.liveRows("model", "a", "b")
	// A restart raises the incarnation: what was stored before is compared by uid alone.
	w.exec("UPDATE incarnation SET incarnation = 2")
	w.swept()
	w.liveRows("model", "b")
}

func TestSweepDryRunClosesNothing(t *testing.T) {
	w := newWorld(t)
	w.remove(w.stored("Model", "a", "b")[0])
	w.cfg.DryRun = true
	w.swept()
	w.liveRows("model", "a", "b")
	if n := w.metric("orphans", "Model"); n != 1 {
		t.Errorf("%v orphans are shown", n)
	}
}

func TestSweepClosesNothingAfterFailedList(t *testing.T) {
	w := newWorld(t)
	w.remove(w.stored("Model", "a", "b")[0])
	w.remove(w.stored("Project", "p", "q")[0])
	w.live.list = func(list client.ObjectList, o *client.ListOptions) error {
		switch kind := list.GetObjectKind().GroupVersionKind().Kind; {
		case kind != "ModelList":
			return nil
		case o.Continue == "":
			list.(*metav1.PartialObjectMetadataList).Items = nil
			list.SetContinue("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0")
			return nil
		default:
			return errors.New("a second page of an expired version must not get here")
		}
	}
	w.aborts("Model", unlisted)
	w.liveRows("model", "a", "b")
	w.liveRows("project", "q") // other kinds continue
}

func TestSweepSkipsUnknownKind(t *testing.T) {
	unknownPath := apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Resource: "models"}, "a", "404 page not found", 0, true)
	for name, failure := range map[string]error{
		"no such kind": &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Model"}},
		"no such path": unknownPath,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.remove(w.stored("Model", "a")...)
			w.remove(w.stored("Project", "p")...)
			w.live.list = func(list client.ObjectList, _ *client.ListOptions) error {
				if list.GetObjectKind().GroupVersionKind().Kind == "ModelList" {
					return failure
				}
				return nil
			}
			w.aborts("Model", unserved)
			w.live.list = nil
			w.live.get = func(string, client.ObjectKey) error { return unknownPath }
			w.aborts("Model", unconfirmed)
			w.liveRows("model", "a")
			w.liveRows("project")
		})
	}
}

func TestSweepIgnoresOtherNamespaces(t *testing.T) {
	w := newWorld(t)
	w.remove(w.stored("Model", "a", "b")[0])
	ours := w.namespace
	w.namespace = cluster.Get(t).Namespace(t)
	w.remove(w.stored("Model", "c", "d")[0])
	w.swept()
	w.liveRows("model", "b", "c", "d")
	w.cfg.Namespaces = []string{ours, w.namespace}
	w.swept()
	w.liveRows("model", "b", "d")
	w.namespace = ours
	w.remove(w.stored("Model", "e")...)
	w.cfg.Namespaces = nil
	w.swept()
	w.liveRows("model", "b", "d")
}

func TestSweepRunsPeriodically(t *testing.T) {
	w := newWorld(t)
	w.cfg.Interval = 20 * time.Millisecond
	w.run()
	for _, name := range []string{"a", "b"} {
		w.remove(w.stored("Model", name)...)
		expect.Eventually(t, expect.Long, func() error {
			deletions, closed := w.deletions(), w.metric("orphans_closed_total")
			if len(deletions) == 0 || int(closed) != len(deletions) || deletions[len(deletions)-1] != "model "+name {
				return fmt.Errorf("deletions %v, %v closed", deletions, closed)
			}
			return nil
		})
	}
}
