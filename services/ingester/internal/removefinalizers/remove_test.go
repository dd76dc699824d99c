package removefinalizers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/app"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/installation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/removefinalizers"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../config/crd"}, Nodes: 1}))
}

// run returns what is printed and the error's text.
func run(t *testing.T, c *removefinalizers.Command, env command.Env) (string, string) {
	t.Helper()
	var out strings.Builder
	if err := c.Run(t.Context(), env, &out); err != nil {
		return out.String(), err.Error()
	}
	return out.String(), ""
}

func lines(out string) []string {
	var kept []string
	for line := range strings.SplitSeq(out, "\n") {
		if f := strings.Join(strings.Fields(line), " "); strings.HasPrefix(f, "Model ") || strings.HasPrefix(f, "Project ") || strings.Contains(f, "row") {
			kept = append(kept, f)
		}
	}
	return kept
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestObjectsAreDeletableAfterwards(t *testing.T) {
	b := commandtest.New(t)
	for i := range 40 {
		b.Stored(b.Model(fmt.Sprintf("m%d", i)))
	}
	b.Stored(b.Project("p"))
	shared := b.Model("shared")
	shared.SetFinalizers([]string{"example.com/first", api.IngesterFinalizer, "example.com/last"})
	b.Stored(shared)
	gone := b.Stored(b.Model("gone"))
	b.Delete(gone)

	out, err := run(t, &removefinalizers.Command{DryRun: true}, b.Env)
	equal(t, "dry run", []string{"Model 42 1 1", "Project 1 0 0"}, lines(out))
	equal(t, "error", "", err)
	if b.Get(gone).GetDeletionTimestamp() == nil {
		t.Error("the dry run changed something")
	}

	out, err = run(t, &removefinalizers.Command{}, b.Env)
	equal(t, "release", []string{"Model 42 1 1", "Project 1 0 0"}, lines(out))
	equal(t, "error", "", err)
	equal(t, "closed rows", []string{"gone"}, dbtest.Strings(t, b.DB, "SELECT name FROM model WHERE delete_time IS NOT NULL"))
	equal(t, "finalizers", []string{"example.com/first", "example.com/last"}, b.Get(shared).GetFinalizers())
	out, err = run(t, &removefinalizers.Command{}, b.Env)
	equal(t, "again", []string{"Model 0 0 0", "Project 0 0 0"}, lines(out))
	equal(t, "error", "", err)

	b.Patch(shared, `{"metadata":{"finalizers":null}}`)
	for _, kind := range []string{"Model", "Project"} {
		all := b.Object(kind, "")
		if err := b.Client.DeleteAllOf(t.Context(), all, client.InNamespace(b.Namespace)); err != nil {
			t.Fatal(err)
		}
		expect.Eventually(t, expect.Long, func() error {
			var list unstructured.UnstructuredList
			list.SetAPIVersion(api.GroupVersion)
			list.SetKind(kind + "List")
			if err := b.Client.List(t.Context(), &list, client.InNamespace(b.Namespace)); err != nil || len(list.Items) > 0 {
				return fmt.Errorf("%d objects are left: %w", len(list.Items), err)
			}
			return nil
		})
	}
}

func TestCommandReportsLiveRowsWithoutMySQL(t *testing.T) {
	b := commandtest.New(t)
	gone := b.Stored(b.Model("gone"))
	b.Delete(gone)
	env := b.Env
	env.DB, env.Store = nil, nil
	out, err := run(t, &removefinalizers.Command{}, env)
	equal(t, "error", "", err)
	equal(t, "output", "1 row of terminating objects stayed live; ingester verify --repair closes them as orphans", lines(out)[len(lines(out))-1])
	expect.Deleted(t, b.Client, gone)
}

// TestDatabaseOfAnotherClusterKeepsFinalizers runs the command with the flags of the program.
func TestDatabaseOfAnotherClusterKeepsFinalizers(t *testing.T) {
	b := commandtest.New(t)
	gone := b.Stored(b.Model("gone"))
	b.Delete(gone)
	if err := installation.Claim(t.Context(), b.DB, "prod"); err != nil {
		t.Fatal(err)
	}
	program := func(args ...string) error {
		spec := app.Spec()
		c, fs := spec.Commands["remove-finalizers"], pflag.NewFlagSet("ingester", pflag.ContinueOnError)
		spec.Flags(fs)
		c.Flags(fs)
		if err := fs.Parse(append(args, "--mysql-dsn="+b.DSN, "--namespaces="+b.Namespace)); err != nil {
			t.Fatal(err)
		}
		return c.Run(t.Context(), service.Options{
			Kubeconfig: b.Plane.Kubeconfig, ClusterName: "test", LeaderElectionNamespace: b.Namespace,
		}, nil)
	}
	err := program()
	if !errors.Is(err, installation.ErrOtherCluster) || !strings.Contains(err.Error(), "--keep-rows") {
		t.Errorf("error %v, want %v with --keep-rows", err, installation.ErrOtherCluster)
	}
	equal(t, "finalizers", []string{api.IngesterFinalizer}, b.Get(gone).GetFinalizers())
	if err := program("--keep-rows"); err != nil {
		t.Errorf("with --keep-rows: %v", err)
	}
	expect.Deleted(t, b.Client, gone)
	equal(t, "closed rows", []string(nil), dbtest.Strings(t, b.DB, "SELECT name FROM model WHERE delete_time IS NOT NULL"))
}

// The clock of the running ingester is behind; that of the crashed one was ahead.
func TestCommandFailsWhileIngesterRuns(t *testing.T) {
	b := commandtest.New(t)
	m := b.Create(b.Model("m"))
	_, err := run(t, &removefinalizers.Command{}, b.Lead(-time.Minute))
	if want := "the ingester pod-1 is running"; !strings.Contains(err, want) {
		t.Errorf("error %q, want one with %q", err, want)
	}
	equal(t, "finalizers", []string{api.IngesterFinalizer}, b.Get(m).GetFinalizers())

	b.Lead(10 * time.Minute)
	_, err = run(t, &removefinalizers.Command{}, b.Env)
	equal(t, "error after a crash of the ingester", "", err)
	equal(t, "finalizers", 0, len(b.Get(m).GetFinalizers()))

	nowhere := b.Env
	nowhere.LeaseNamespace = ""
	_, err = run(t, &removefinalizers.Command{}, nowhere)
	if want := "--leader-election-namespace (FLOTILLA_LEADER_ELECTION_NAMESPACE) is required"; !strings.Contains(err, want) {
		t.Errorf("error %q, want one with %q", err, want)
	}
	_, err = run(t, &removefinalizers.Command{Force: true}, nowhere)
	equal(t, "error by force", "", err)
}

// withClient returns an env whose patches pass through f first.
func withClient(t *testing.T, b *commandtest.Env, f func(ctx context.Context, c client.WithWatch, object client.Object) (skip bool)) command.Env {
	t.Helper()
	inner, err := client.NewWithWatch(cluster.Get(t).Config, client.Options{Scheme: b.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	env := b.Env
	env.Client = interceptor.NewClient(inner, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if f(ctx, c, object) {
				return nil
			}
			return c.Patch(ctx, object, patch, options...)
		},
	})
	return env
}

func TestCommandPatchesLatestVersion(t *testing.T) {
	b := commandtest.New(t)
	m := b.Create(b.Model("m"))
	var changes atomic.Int32
	env := withClient(t, b, func(context.Context, client.WithWatch, client.Object) bool {
		if n := changes.Add(1); n <= 3 {
			b.Patch(m.DeepCopy(), fmt.Sprintf(`{"metadata":{"finalizers":["example.com/%d",%q]}}`, n, api.IngesterFinalizer)) //nolint:contextcheck // another client writes
		}
		return false
	})
	out, err := run(t, &removefinalizers.Command{}, env)
	equal(t, "error", "", err)
	equal(t, "output", "Model 1 0 0", lines(out)[0])
	equal(t, "finalizers", []string{"example.com/3"}, b.Get(m).GetFinalizers())
	b.Wipe(m)
}

func TestCommandContinuesAfterPolicy(t *testing.T) {
	b := commandtest.New(t)
	for _, name := range []string{"a", "rejected", "z"} {
		b.Create(b.Model(name))
	}
	project := b.Create(b.Project("p"))
	allow := b.Plane.RejectWrites(t, b.Namespace, "rejected")
	out, err := run(t, &removefinalizers.Command{}, b.Env)
	equal(t, "error", "patches of 1 object were rejected", err)
	equal(t, "finalizers of another kind", 0, len(b.Get(project).GetFinalizers()))
	for _, want := range []string{"Model 2 0 0", "Model " + b.Namespace + "/rejected: "} {
		if !slices.ContainsFunc(lines(out), func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	allow()
	out, err = run(t, &removefinalizers.Command{}, b.Env)
	equal(t, "error", "", err)
	equal(t, "again", []string{"Model 1 0 0", "Project 0 0 0"}, lines(out))
}

// The row of a terminating object is closed before its patch. If the patch is rejected, the row takes later changes too.
func TestClosedRowTakesChangesAfterPolicy(t *testing.T) {
	b := commandtest.New(t)
	rejected := b.Stored(b.Model("rejected"))
	b.Delete(rejected)
	allow := b.Plane.RejectWrites(t, b.Namespace, "rejected")
	out, err := run(t, &removefinalizers.Command{}, b.Env)
	equal(t, "error", "patches of 1 object were rejected", err)
	equal(t, "output", "Model 0 0 0", lines(out)[0])
	row := func() []string {
		return dbtest.Strings(t, b.DB, "SELECT CONCAT_WS(' ', algorithm, delete_time IS NOT NULL, evict_time IS NOT NULL) FROM model")
	}
	equal(t, "row", []string{"xgboost 1 0"}, row())
	allow()
	b.Patch(rejected, `{"spec":{"algorithm":"lightgbm"}}`)
	out, err = run(t, &removefinalizers.Command{}, b.Env)
	equal(t, "error", "", err)
	equal(t, "again", "Model 1 1 1", lines(out)[0])
	expect.Deleted(t, b.Client, rejected)
	equal(t, "row", []string{"lightgbm 1 0"}, row())
	equal(t, "events", []string{"created", "deleted"}, dbtest.Strings(t, b.DB, "SELECT operation FROM outbox ORDER BY id"))
}

func TestCommandReportsReaddedFinalizers(t *testing.T) {
	b := commandtest.New(t)
	b.Create(b.Model("m"))
	env := withClient(t, b, func(context.Context, client.WithWatch, client.Object) bool { return true })
	_, err := run(t, &removefinalizers.Command{}, env)
	if want := "1 object got the finalizer again"; !strings.HasPrefix(err, want) {
		t.Errorf("error %q, want one with %q", err, want)
	}
}

func TestCommandFailsForMissingNamespace(t *testing.T) {
	b := commandtest.New(t)
	c := &removefinalizers.Command{}
	c.Namespaces = []string{"nowhere"}
	_, err := run(t, c, b.Env)
	equal(t, "error", `--namespaces: namespace "nowhere" not found`, err)
}
