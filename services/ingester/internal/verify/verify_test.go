package verify_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/verify"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../config/crd"}, Nodes: 1}))
}

// compare returns the differences as "<what> <name>".
func compare(t *testing.T, b *commandtest.Env, options verify.Options) []string {
	t.Helper()
	report, err := verify.Compare(t.Context(), b.Env, options)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range report.Differences {
		out = append(out, string(d.Type)+" "+d.Name)
	}
	slices.Sort(out)
	return out
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// createDifferences creates one difference of each type, and objects without a difference.
func createDifferences(b *commandtest.Env) {
	b.Stored(b.Model("fine"))
	b.Stored(b.Project("fine"))
	b.Create(b.Model("missing"))
	b.Patch(b.Stored(b.Model("stale")), `{"spec":{"algorithm":"lightgbm"}}`)
	b.Wipe(b.Stored(b.Model("orphan")))
	b.Exec("UPDATE model SET delete_time = NOW(6) WHERE uid = ?", string(b.Stored(b.Model("closed")).GetUID()))
	evicted := b.Create(b.Model("evicted"))
	if err := b.Store.Evict(b.Context(), evicted); err != nil {
		b.Fatal(err)
	}
	deleted := b.Create(b.Model("gone"))
	if err := b.Store.Evict(b.Context(), deleted); err != nil {
		b.Fatal(err)
	}
	b.Wipe(deleted)
	changed := b.Model("changed")
	changed.SetFinalizers([]string{api.IngesterFinalizer, "example.com/other"})
	changed.SetAnnotations(map[string]string{api.ImmutableAnnotation: "true"})
	if err := b.Store.Evict(b.Context(), b.Create(changed)); err != nil {
		b.Fatal(err)
	}
	b.Delete(changed)
	b.Patch(changed, `{"metadata":{"finalizers":["example.com/other"]},"spec":{"algorithm":"lightgbm"}}`)
	bare := b.Project("bare")
	bare.SetFinalizers(nil)
	b.Stored(bare)
	ahead := b.Stored(b.Project("ahead"))
	b.Exec("UPDATE project SET res_version = res_version + 1000000 WHERE uid = ?", string(ahead.GetUID()))
	duplicate := b.Stored(b.Project("twice"))
	b.Exec("INSERT INTO project (uid, namespace, name, group_ver, res_version, incarnation, create_time, update_time, proto, json, evict_time)"+
		" SELECT 'other', namespace, name, group_ver, 1, incarnation, create_time, update_time, proto, json, NOW(6) FROM project WHERE uid = ?", string(duplicate.GetUID()))
	b.Exec("UPDATE model SET algorithm = 'hand' WHERE uid = ?", string(b.Stored(b.Model("column")).GetUID()))
	b.Exec("UPDATE model SET proto = 'x' WHERE uid = ?", string(b.Stored(b.Model("proto")).GetUID()))
	b.Exec("UPDATE model SET json = JSON_SET(json, '$.spec.sealed', false) WHERE uid = ?", string(b.Stored(b.Model("json")).GetUID()))
	b.Exec("DELETE FROM model_labels WHERE `key` = 'team' AND obj_uid = ?", string(b.Stored(b.Model("label")).GetUID()))
	b.Exec("INSERT INTO model_annotations (obj_uid, `key`, value) VALUES (?, 'x', 'y')", string(b.Stored(b.Model("annotation")).GetUID()))
}

var (
	shallow = []string{
		"ahead ahead", "closed closed", "duplicate twice", "evicted evicted", "finalizer bare", "missing missing", "orphan orphan", "stale changed", "stale stale",
	}
	contents = []string{"content annotation", "content column", "content json", "content label", "content proto"}
)

func TestCompareNamesAllDifferences(t *testing.T) {
	b := commandtest.New(t)
	createDifferences(b)
	equal(t, "differences", shallow, compare(t, b, verify.Options{}))
	withContent := slices.Concat(shallow, contents, []string{"content ahead", "content twice"})
	slices.Sort(withContent)
	equal(t, "deep differences", withContent, compare(t, b, verify.Options{Deep: true, SettleTimeout: time.Second}))
	one := verify.Options{}
	one.Kinds = []string{"projects"}
	equal(t, "of one kind", []string{"ahead ahead", "duplicate twice", "finalizer bare"}, compare(t, b, one))
	one.Namespaces = []string{"elsewhere"}
	equal(t, "of another namespace", []string(nil), compare(t, b, one))
}

func TestDeepCompareFindsNoDifference(t *testing.T) {
	b := commandtest.New(t)
	b.Stored(b.Model("rich"))
	b.Stored(b.Object("Model", "empty"))
	rich := b.Stored(b.Project("rich"))
	b.Upsert(b.Patch(rich, `{"metadata":{"annotations":{"empty":"","text":"Ä \"x\" \\ \u2028"}},"spec":{"supportingLinks":{"a":"b"}}}`))
	if err := b.Store.Finish(t.Context(), b.Create(b.Model("finished"))); err != nil {
		t.Fatal(err)
	}
	got := compare(t, b, verify.Options{Deep: true})
	equal(t, "differences", []string{"closed finished"}, got)
}

// The version of the list with content expires between its pages.
func TestDeepCompareContinuesAfterListExpired(t *testing.T) {
	b := commandtest.New(t)
	b.Stored(b.Model("same"))
	b.Exec("UPDATE model SET json = JSON_SET(json, '$.spec.sealed', false) WHERE uid = ?", string(b.Stored(b.Model("changed")).GetUID()))
	inner, err := client.NewWithWatch(cluster.Get(t).Config, client.Options{Scheme: b.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	expired := 0
	b.Client = interceptor.NewClient(inner, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			o := &client.ListOptions{}
			o.ApplyOptions(options)
			content, ok := list.(*unstructured.UnstructuredList)
			if !ok || content.GetKind() != "ModelList" {
				return c.List(ctx, list, options...)
			}
			if o.Continue != "" && expired == 0 {
				expired++
				return apierrors.NewResourceExpired("The provided continue parameter is too old")
			}
			return c.List(ctx, list, append(options, client.Limit(1))...)
		},
	})
	equal(t, "differences", []string{"content changed"}, compare(t, b, verify.Options{Deep: true}))
	equal(t, "expired lists", 1, expired)
}

// A late row is not a difference, a missing one is.
func TestCompareIgnoresChangesInTransit(t *testing.T) {
	b := commandtest.New(t)
	late := b.Create(b.Model("late"))
	go func() {
		<-b.Clock.After(300 * time.Millisecond)
		if err := b.Store.Upsert(b.Context(), late, false, nil); err != nil {
			b.Error(err)
		}
	}()
	b.Create(b.Model("never"))
	equal(t, "differences", []string{"missing never"}, compare(t, b, verify.Options{SettleTimeout: 3 * time.Second}))
}

func TestRepairStoresAndCloses(t *testing.T) {
	b := commandtest.New(t)
	createDifferences(b)
	report, err := verify.Compare(t.Context(), b.Env, verify.Options{Deep: true})
	if err != nil {
		t.Fatal(err)
	}
	repaired, err := verify.Repair(t.Context(), b.Env, report, false)
	if err != nil {
		t.Fatal(err)
	}
	if repaired.Stored != 9 || repaired.Closed != 1 {
		t.Errorf("repaired %+v", repaired)
	}
	remaining := []string{"ahead ahead", "content ahead", "content twice", "duplicate twice", "evicted evicted", "finalizer bare"}
	equal(t, "left", remaining, compare(t, b, verify.Options{Deep: true}))
	equal(t, "evicted rows", []string{"changed lightgbm", "evicted xgboost", "gone xgboost"}, dbtest.Strings(t, b.DB, "SELECT CONCAT_WS(' ', name, algorithm) FROM model WHERE evict_time IS NOT NULL AND delete_time IS NULL ORDER BY name"))
	events := dbtest.Strings(t, b.DB, "SELECT operation FROM outbox WHERE name = 'orphan' ORDER BY id")
	equal(t, "events of the orphan", []string{"created", "deleted"}, events)
	for _, u := range repaired.Left {
		if u.Reason == "" || !slices.Contains(remaining, string(u.Type)+" "+u.Name) {
			t.Errorf("not repaired: %+v", u)
		}
	}
}

// With --evict-immutable-kinds, the ingester evicts each Model.
func TestRepairStoresNoObjectThatIsEvicted(t *testing.T) {
	b := commandtest.New(t)
	b.Create(b.Model("model"))
	b.Create(b.Project("project"))
	report, err := verify.Compare(t.Context(), b.Env, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.EvictImmutableKinds = true
	repaired, err := verify.Repair(t.Context(), b.Env, report, false)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, u := range repaired.Left {
		left = append(left, u.Name+": "+u.Reason)
	}
	equal(t, "left", []string{"model: a running ingester deletes the object from the cluster"}, left)
	equal(t, "stored", 1, repaired.Stored)
}

// Without a settle timeout, an object that is created during the scan counts as an orphan; a duplicate may belong to an object.
func TestRepairKeepsRowsOfObjectsThatExist(t *testing.T) {
	b := commandtest.New(t)
	inner, err := client.NewWithWatch(cluster.Get(t).Config, client.Options{Scheme: b.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	created := false
	env := b.Env
	env.Client = interceptor.NewClient(inner, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if !created && list.GetObjectKind().GroupVersionKind().Kind == "ModelList" {
				created = true
				b.Stored(b.Model("late")) //nolint:contextcheck // another client writes
			}
			return err
		},
	})
	twice := b.Stored(b.Project("twice"))
	b.Exec("INSERT INTO project (uid, namespace, name, group_ver, res_version, incarnation, create_time, update_time,"+
		" proto, json, evict_time)"+
		" SELECT 'newer', namespace, name, group_ver, res_version + 1, incarnation, create_time, update_time,"+
		" proto, json, NOW(6) FROM project WHERE uid = ?", string(twice.GetUID()))
	report, err := verify.Compare(t.Context(), env, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var types []verify.DifferenceType
	for _, d := range report.Differences {
		types = append(types, d.Type)
	}
	equal(t, "differences", []verify.DifferenceType{verify.Orphan, verify.Duplicate}, types)
	repaired, err := verify.Repair(t.Context(), env, report, false)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "closed rows", 0, repaired.Closed)
	equal(t, "live rows", []string{"late"}, dbtest.Strings(t, b.DB, "SELECT name FROM model WHERE delete_time IS NULL"))
	equal(t, "live duplicates", []string{"newer", string(twice.GetUID())},
		dbtest.Strings(t, b.DB, "SELECT uid FROM project WHERE delete_time IS NULL ORDER BY res_version DESC"))
	equal(t, "left", 1, len(repaired.Left))
	for _, u := range repaired.Left {
		equal(t, "reason", "the object of the older row exists or was evicted", u.Reason)
	}
}

func TestRepairKeepsTooManyOrphans(t *testing.T) {
	b := commandtest.New(t)
	first := b.Stored(b.Model("m"))
	for range 7 { // 128 rows without an object
		b.Exec("INSERT INTO model (uid, namespace, name, group_ver, res_version, incarnation, create_time, update_time, proto, json)" +
			" SELECT UUID(), namespace, UUID(), group_ver, res_version, incarnation, create_time, update_time, proto, json FROM model")
	}
	live := func() string {
		return dbtest.Strings(t, b.DB, "SELECT COUNT(*) FROM model WHERE delete_time IS NULL")[0]
	}
	var out strings.Builder
	c := &verify.Command{Repair: true}
	err := c.Run(t.Context(), b.Env, &out)
	if err == nil || err.Error() != "127 differences left" || !strings.Contains(out.String(), "127 of 128 rows of Model would be closed") {
		t.Errorf("error %v, output:\n%s", err, out.String())
	}
	equal(t, "live rows", "128", live())
	c.Force = true
	if err := c.Run(t.Context(), b.Env, &out); err != nil {
		t.Error(err)
	}
	equal(t, "live rows", "1", live())
	b.Get(first)
}
