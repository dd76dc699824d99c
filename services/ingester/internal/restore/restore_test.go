package restore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/restore"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/verify"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../config/crd"}, Nodes: 1}))
}

func newCommand() *restore.Command {
	return &restore.Command{Existing: "skip", Rate: 10000}
}

// run returns the lines of the kinds that had rows, the problems, and the error's text.
func run(t *testing.T, c *restore.Command, env command.Env) (kinds, problems []string, failure string) {
	t.Helper()
	var out strings.Builder
	if err := c.Run(t.Context(), env, &out); err != nil {
		failure = err.Error()
	}
	table, rest, _ := strings.Cut(out.String(), "\n\n")
	for line := range strings.SplitSeq(table, "\n") {
		if f := strings.Fields(line); len(f) == 7 && f[1] != "0" && f[0] != "KIND" {
			kinds = append(kinds, strings.Join(f, " "))
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(rest), "\n") {
		if line != "" {
			problems = append(problems, line)
		}
	}
	return kinds, problems, failure
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// zero waits until verify finds no difference between cluster and MySQL.
func zero(t *testing.T, b *commandtest.Env) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		report, err := verify.Compare(t.Context(), b.Env, verify.Options{Deep: true})
		if err != nil {
			return err
		}
		if len(report.Differences) > 0 {
			return fmt.Errorf("%v", report.Differences)
		}
		return nil
	})
}

func status(t *testing.T, b *commandtest.Env, p *unstructured.Unstructured, phase string) {
	t.Helper()
	p.Object["status"] = map[string]any{"phase": phase, "lastUpdateTime": "2026-11-22T01:02:03Z"}
	if err := b.Client.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// TestRestoreRecreatesLostNamespace deletes all objects while the ingester is stopped, restores
// them twice, and starts the ingester.
func TestRestoreRecreatesLostNamespace(t *testing.T) {
	b := commandtest.New(t)
	stop := b.Start()
	project := b.Create(b.Project("growth"))
	status(t, b, project, "PROJECT_PHASE_PRODUCTION")
	var models []*unstructured.Unstructured
	for i := range 12 {
		m := b.Model(fmt.Sprintf("m%d", i))
		m.SetFinalizers([]string{"example.com/kept"})
		models = append(models, b.Create(m))
	}
	deleted := b.Create(b.Model("deleted"))
	evicted := b.Create(b.Model("evicted"))
	zero(t, b)
	b.Patch(evicted, `{"metadata":{"annotations":{"michelangelo/Immutable":"true"}}}`)
	b.Delete(deleted)
	expect.Deleted(t, b.Client, evicted)
	expect.Deleted(t, b.Client, deleted)
	zero(t, b)
	stop()

	old := b.Get(project).DeepCopy()
	first := b.Get(models[0]).DeepCopy()
	for _, u := range append(models, project) {
		b.Wipe(u)
	}
	dry := newCommand()
	dry.DryRun = true
	kinds, problems, failure := run(t, dry, b.Env)
	equal(t, "dry run", []string{"Model 12 12 0 0 0 0", "Project 1 1 0 0 0 0"}, kinds)
	equal(t, "problems", []string(nil), problems)
	equal(t, "error", "", failure)
	expect.Deleted(t, b.Client, project.DeepCopy())
	kinds, _, failure = run(t, newCommand(), b.Env)
	equal(t, "restore", []string{"Model 12 12 0 0 0 0", "Project 1 1 0 0 0 0"}, kinds)
	equal(t, "error", "", failure)
	kinds, _, failure = run(t, newCommand(), b.Env)
	equal(t, "again", []string{"Model 12 0 0 12 0 0", "Project 1 0 0 1 0 0"}, kinds)
	equal(t, "error", "", failure)

	b.Get(project)
	equal(t, "status", old.Object["status"], project.Object["status"])
	equal(t, "spec", old.Object["spec"], project.Object["spec"])
	if project.GetUID() == old.GetUID() {
		t.Error("the object is the old one")
	}
	m := b.Get(models[0])
	equal(t, "finalizers", []string{"example.com/kept", api.IngesterFinalizer}, m.GetFinalizers())
	equal(t, "labels", first.GetLabels(), m.GetLabels())
	equal(t, "annotations", map[string]string{"note": "Grüße", restore.FromAnnotation: string(first.GetUID())}, m.GetAnnotations())

	b.Start()
	zero(t, b)
	equal(t, "rows", []string{"closed deleted", "live evicted", "closed m0", "live m0"}, dbtest.Strings(t, b.DB,
		"SELECT CONCAT(IF(delete_time IS NULL, 'live ', 'closed '), name) AS line FROM model WHERE name IN ('deleted', 'evicted', 'm0') ORDER BY name, line"))
	for _, u := range models {
		b.Patch(b.Get(u), `{"metadata":{"finalizers":["michelangelo/Ingester"]}}`)
	}
}

func TestRestoreOfEvictedObjects(t *testing.T) {
	b := commandtest.New(t)
	b.Start()
	m := b.Create(b.Model("churn"))
	zero(t, b)
	b.Patch(m, `{"metadata":{"annotations":{"michelangelo/Immutable":"true"}}}`)
	expect.Deleted(t, b.Client, m.DeepCopy())
	old := string(m.GetUID())

	missing := newCommand()
	missing.Force, missing.Names = true, []string{"churn"}
	_, _, failure := run(t, missing, b.Env)
	equal(t, "error", "--name: no live row found", failure)
	back := newCommand()
	back.Evicted, back.Names = true, []string{"churn"}
	kinds, _, failure := run(t, back, b.Env)
	equal(t, "restore", []string{"Model 1 1 0 0 0 0"}, kinds)
	equal(t, "error", "", failure)
	zero(t, b)
	equal(t, "annotations", map[string]string{"note": "Grüße", restore.FromAnnotation: old}, b.Get(m).GetAnnotations())
	equal(t, "rows", []string{"closed", "live"}, dbtest.Strings(t, b.DB,
		"SELECT IF(delete_time IS NULL, 'live', 'closed') AS state FROM model WHERE name = 'churn' ORDER BY state"))
	equal(t, "live row", []string{string(m.GetUID())}, dbtest.Strings(t, b.DB, "SELECT uid FROM model WHERE delete_time IS NULL AND evict_time IS NULL"))
}

// TestRestoreCompletesInterruptedRun loses the connection between object and status,
// while an ingester already closes the old row.
func TestRestoreCompletesInterruptedRun(t *testing.T) {
	b := commandtest.New(t)
	stop := b.Start()
	p := b.Create(b.Project("growth"))
	status(t, b, p, "PROJECT_PHASE_STAGING")
	zero(t, b)
	stop()
	b.Wipe(p)
	inner, err := client.NewWithWatch(cluster.Get(t).Config, client.Options{Scheme: b.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	env := b.Env
	env.Client = interceptor.NewClient(inner, interceptor.Funcs{
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return errors.New("connection lost")
		},
	})
	_, _, failure := run(t, newCommand(), env)
	if !strings.Contains(failure, "restore Project "+b.Namespace+"/growth: connection lost") {
		t.Errorf("error %q", failure)
	}
	stop = b.Start()
	zero(t, b)
	stop()
	kinds, _, failure := run(t, newCommand(), b.Env)
	equal(t, "again", []string{"Project 1 0 1 0 0 0"}, kinds)
	equal(t, "error", "", failure)
	phase, _, _ := unstructured.NestedString(b.Get(p).Object, "status", "phase")
	equal(t, "phase", "PROJECT_PHASE_STAGING", phase)
	kinds, _, failure = run(t, newCommand(), b.Env)
	equal(t, "once more", []string{"Project 1 0 0 1 0 0"}, kinds)
	equal(t, "error", "", failure)
	b.Start()
	zero(t, b)
}

func TestOwnersAreResolvedByNameOrDropped(t *testing.T) {
	b := commandtest.New(t)
	owner := b.Stored(b.Project("owner"))
	m := b.Model("m")
	m.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: api.GroupVersion, Kind: "Project", Name: "owner", UID: owner.GetUID()},
		{APIVersion: api.GroupVersion, Kind: "Project", Name: "lost", UID: "gone"},
		{APIVersion: "example.com/v1", Kind: "Unknown", Name: "x", UID: "gone"},
	})
	m.SetUID("before")
	m.SetResourceVersion("7")
	m.SetCreationTimestamp(metav1.Now())
	b.Upsert(m)
	c := newCommand()
	c.Kinds = []string{"model"}
	_, problems, failure := run(t, c, b.Env)
	equal(t, "error", "", failure)
	equal(t, "problems", []string{"Model " + b.Namespace + "/m: restored without its owners, which do not exist: [Project lost Unknown x]"}, problems)
	refs := b.Get(m).GetOwnerReferences()
	if len(refs) != 1 || refs[0].UID != owner.GetUID() {
		t.Errorf("owners %v", refs)
	}
}

func TestRestoreRejectsInvalidFlags(t *testing.T) {
	b := commandtest.New(t)
	tests := map[string]struct {
		change func(*restore.Command)
		want   string
	}{
		"a namespace that is not there":  {func(c *restore.Command) { c.Namespaces = []string{"nowhere"} }, `namespace "nowhere" not found: create it first (kubectl create namespace nowhere)`},
		"an unknown kind":                {func(c *restore.Command) { c.Kinds = []string{"x"} }, `--kinds: unknown kind "x"`},
		"a policy that is none":          {func(c *restore.Command) { c.Existing = "replace" }, `--existing must be skip or fail, got "replace"`},
		"no rate":                        {func(c *restore.Command) { c.Rate = 0 }, "--rate must be positive, got 0"},
		"a name that no evicted row has": {func(c *restore.Command) { c.Evicted, c.Names = true, []string{"x"} }, "--name: no evicted row found"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCommand()
			tc.change(c)
			_, _, failure := run(t, c, b.Env)
			if !strings.Contains(failure, tc.want) {
				t.Errorf("error %q, want one with %q", failure, tc.want)
			}
		})
	}
}
