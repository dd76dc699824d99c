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
			e := newEnvOn(t, mysqltest.DSNOf(t, vendor))
			models := e.stored("Model", "a", "b", "c")
			projects := e.stored("Project", "p", "q")
			e.remove(models[1], projects[0])
			e.mustSweep()
			e.liveRows("model", "a", "c")
			e.liveRows("project", "q")
			if diff := cmp.Diff([]string{"model b", "project p"}, e.deletions()); diff != "" {
				t.Errorf("deletions (-want +got):\n%s", diff)
			}
			if n := e.metric("orphans_closed_total"); n != 2 {
				t.Errorf("%v orphans are counted", n)
			}
			if e.metric("sweep_last_success_timestamp_seconds") == 0 {
				t.Error("no success is counted")
			}
			e.mustSweep()
			if n := e.metric("orphans_closed_total"); n != 0 {
				t.Errorf("%v orphans of a second sweep", n)
			}
		})
	}
}

func TestSweepSkipsKindsWithoutRows(t *testing.T) {
	e := newEnv(t)
	e.stored("Project", "p")
	e.mustSweep()
	if n := e.live.requests.Load(); n != 2 {
		t.Errorf("%d requests, want one for the cluster and one list", n)
	}
}

func TestSweepClosesRowOfReplacedObject(t *testing.T) {
	e := newEnv(t)
	deleted := e.stored("Model", "a", "b")[0]
	e.remove(deleted)
	recreated := object("Model", e.namespace, "a")
	if err := e.client.Create(t.Context(), recreated); err != nil {
		t.Fatal(err)
	}
	e.mustSweep() // the new object is not stored yet
	e.liveRows("model", "b")
	if err := e.store.Upsert(t.Context(), recreated, false, nil); err != nil {
		t.Fatal(err)
	}
	e.mustSweep()
	e.liveRows("model", "a", "b")
}

func TestSweepKeepsEvictedRows(t *testing.T) {
	e := newEnv(t)
	models := e.stored("Model", "evicted", "now", "there")
	if err := e.store.Evict(t.Context(), models[0]); err != nil {
		t.Fatal(err)
	}
	e.remove(models[0])
	// The second object is evicted, in the stored version, while the sweep checks it.
	e.remove(models[1])
	checked := false
	e.live.get = func(string, client.ObjectKey) error {
		checked = true
		return e.store.Evict(t.Context(), models[1])
	}
	e.mustSweep()
	if !checked {
		t.Error("the row was not checked")
	}
	e.liveRows("model", "evicted", "now", "there")
}

func TestSweepKeepsConcurrentlyChangedRow(t *testing.T) {
	e := newEnv(t)
	e.remove(e.stored("Model", "a", "b")[0])
	e.cfg.Close = func(ctx context.Context, kind *registry.Kind, orphans []rows.Row) ([]writer.Outcome, error) {
		e.exec("UPDATE model SET res_version = res_version + 1 WHERE name = 'a'") //nolint:contextcheck // another process writes
		return e.store.CloseRows(ctx, kind, orphans)
	}
	e.mustSweep()
	e.liveRows("model", "a", "b")
	if n := e.metric("orphans_closed_total"); n != 0 {
		t.Errorf("%v orphans are counted", n)
	}
}

func TestSweepConfirmsObjectsMissingFromList(t *testing.T) {
	e := newEnv(t)
	e.stored("Model", "a", "b")
	e.live.list = func(list client.ObjectList, _ *client.ListOptions) error {
		page := list.(*metav1.PartialObjectMetadataList)
		page.Items = page.Items[1:]
		return nil
	}
	e.mustSweep()
	e.liveRows("model", "a", "b")
}

func TestSweepAbortsOnTooManyOrphans(t *testing.T) {
	e := newEnv(t)
	e.stored("Model", "a")
	e.addOrphanRows(manyRows + 1)
	e.expectAbort("Model", threshold)
	if n := len(e.deletions()); n != 0 {
		t.Errorf("%d rows were closed", n)
	}
	if n := e.metric("orphans", "Model"); n != manyRows+1 {
		t.Errorf("%v orphans are shown", n)
	}
	if event := <-e.events.Events; !strings.Contains(event, "Warning SweepAborted") || !strings.Contains(event, "verify --repair --force") {
		t.Errorf("event %q", event)
	}
	e.cfg.Events = e.recorder()
	e.expectAbort("Model", threshold)
	expect.Eventually(t, expect.Long, func() error {
		var list eventsv1.EventList
		if err := e.client.List(t.Context(), &list); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "SweepAborted" && e.Regarding.Name == "ingester-checkpoint" && e.Related.Name == "models.michelangelo.api" {
				return nil
			}
		}
		return fmt.Errorf("none of %d events is ours", len(list.Items))
	})
	e.exec("DELETE FROM model WHERE res_version = 1 LIMIT 1")
	e.mustSweep()
	e.liveRows("model", "a")
}

func TestSweepAbortsOnEmptyCluster(t *testing.T) {
	e := newEnv(t)
	e.addOrphanRows(fewRows + 1)
	e.expectAbort("Model", empty)
	if n := len(e.deletions()); n != 0 {
		t.Errorf("%d rows were closed", n)
	}
}

func TestSweepAbortsOnOtherCluster(t *testing.T) {
	e := newEnv(t)
	e.remove(e.stored("Model", "a")...)
	for _, change := range []string{
		"INSERT INTO incarnation (cluster_uid, incarnation, raised_at) VALUES ('newer', 2, '2026-01-01')",
		"DELETE FROM incarnation WHERE incarnation = 1",
	} {
		e.exec(change)
		e.expectAbort("Model", otherCluster)
		e.liveRows("model", "a")
	}
}

func TestSweepAbortsOnRestoredCluster(t *testing.T) {
	e := newEnv(t)
	deleted := e.stored("Model", "a", "b")[0]
	e.remove(deleted)
	e.exec("UPDATE model SET res_version = 1000000000 WHERE name = 'b'")
	e.expectAbort("Model", older)
	e.liveRows("model", "a", "b")
	// A restart raises the incarnation: what was stored before is compared by uid alone.
	e.exec("UPDATE incarnation SET incarnation = 2")
	e.mustSweep()
	e.liveRows("model", "b")
}

func TestSweepDryRunClosesNothing(t *testing.T) {
	e := newEnv(t)
	e.remove(e.stored("Model", "a", "b")[0])
	e.cfg.DryRun = true
	e.mustSweep()
	e.liveRows("model", "a", "b")
	if n := e.metric("orphans", "Model"); n != 1 {
		t.Errorf("%v orphans are shown", n)
	}
}

func TestSweepClosesNothingAfterFailedList(t *testing.T) {
	e := newEnv(t)
	e.remove(e.stored("Model", "a", "b")[0])
	e.remove(e.stored("Project", "p", "q")[0])
	e.live.list = func(list client.ObjectList, o *client.ListOptions) error {
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
	e.expectAbort("Model", unlisted)
	e.liveRows("model", "a", "b")
	e.liveRows("project", "q") // other kinds continue
}

func TestSweepSkipsUnknownKind(t *testing.T) {
	unknownPath := apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Resource: "models"}, "a", "404 page not found", 0, true)
	for name, failure := range map[string]error{
		"no such kind": &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Model"}},
		"no such path": unknownPath,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.remove(e.stored("Model", "a")...)
			e.remove(e.stored("Project", "p")...)
			e.live.list = func(list client.ObjectList, _ *client.ListOptions) error {
				if list.GetObjectKind().GroupVersionKind().Kind == "ModelList" {
					return failure
				}
				return nil
			}
			e.expectAbort("Model", unserved)
			e.live.list = nil
			e.live.get = func(string, client.ObjectKey) error { return unknownPath }
			e.expectAbort("Model", unconfirmed)
			e.liveRows("model", "a")
			e.liveRows("project")
		})
	}
}

func TestSweepIgnoresOtherNamespaces(t *testing.T) {
	e := newEnv(t)
	e.remove(e.stored("Model", "a", "b")[0])
	first := e.namespace
	e.namespace = cluster.Get(t).Namespace(t)
	e.remove(e.stored("Model", "c", "d")[0])
	e.mustSweep()
	e.liveRows("model", "b", "c", "d")
	e.cfg.Namespaces = []string{first, e.namespace}
	e.mustSweep()
	e.liveRows("model", "b", "d")
	e.namespace = first
	e.remove(e.stored("Model", "e")...)
	e.cfg.Namespaces = nil
	e.mustSweep()
	e.liveRows("model", "b", "d")
}

func TestSweepRunsPeriodically(t *testing.T) {
	e := newEnv(t)
	e.cfg.Interval = 20 * time.Millisecond
	e.run()
	for _, name := range []string{"a", "b"} {
		e.remove(e.stored("Model", name)...)
		expect.Eventually(t, expect.Long, func() error {
			deletions, closed := e.deletions(), e.metric("orphans_closed_total")
			if len(deletions) == 0 || int(closed) != len(deletions) || deletions[len(deletions)-1] != "model "+name {
				return fmt.Errorf("deletions %v, %v closed", deletions, closed)
			}
			return nil
		})
	}
}
