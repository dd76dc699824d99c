// Package commandtest holds the test environment of the commands: a namespace of a real
// cluster, a real database, and objects that are stored as the ingester stores them.
//
// The package under test calls cluster.Main with the CRDs of config/crd.
package commandtest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// Env is a command.Env with a namespace.
type Env struct {
	testing.TB
	command.Env
	Plane     *cluster.Cluster
	Namespace string
	DSN       string
	// SweepInterval is the interval of the started ingesters; zero means that they examine only candidates.
	SweepInterval time.Duration
	// Bus is the bus of the started ingesters, under the cluster name "test"; nil means none.
	Bus *bus.Conn
	// Health is the address of /readyz of the newest ingester.
	Health string
}

// New returns an environment whose store has the incarnation of the cluster, as after a start of the ingester.
func New(t testing.TB) *Env {
	t.Helper()
	return NewIn(t, cluster.Get(t), mysqltest.DSN(t))
}

// NewOf is like New, on a server of the given vendor.
func NewOf(t testing.TB, vendor mysqltest.Vendor) *Env {
	t.Helper()
	return NewIn(t, cluster.Get(t), mysqltest.DSNOf(t, vendor))
}

// NewIn is like New, in a given cluster and an empty database.
func NewIn(t testing.TB, plane *cluster.Cluster, dsn string) *Env {
	t.Helper()
	dbtest.Migrate(t, dbtest.Open(t, dsn))
	b := &Env{TB: t, Plane: plane, Namespace: plane.Namespace(t), DSN: dsn}
	b.Env = b.Open(plane.Client(t, Scheme(t)))
	b.resolveIncarnation()
	return b
}

// Scheme returns a scheme with the built-in kinds.
func Scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// Open opens another Env on the same database, with a client.
func (b *Env) Open(c client.Client) command.Env {
	b.Helper()
	env, err := command.Open(context.WithoutCancel(b.Context()), command.Config{
		MySQL: database.Settings{DSN: b.DSN}, Client: c, Outbox: true, Clock: clock.RealClock{}, Log: logr.Discard(),
		Namespaces: []string{b.Namespace}, LeaseNamespace: b.Namespace,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := env.Close(); err != nil {
			b.Error(err)
		}
	})
	return env
}

func (b *Env) resolveIncarnation() {
	b.Helper()
	system := &unstructured.Unstructured{}
	system.SetAPIVersion("v1")
	system.SetKind("Namespace")
	if err := b.Client.Get(b.Context(), client.ObjectKey{Name: "kube-system"}, system); err != nil {
		b.Fatal(err)
	}
	if _, err := b.Store.ResolveIncarnation(b.Context(), string(system.GetUID()), func(context.Context) (int64, error) { return 1, nil }); err != nil {
		b.Fatal(err)
	}
}

// Model returns a Model with our finalizer, two labels and an annotation.
func (b *Env) Model(name string) *unstructured.Unstructured {
	u := b.Object("Model", name)
	u.SetLabels(map[string]string{"team": "growth", "tier": "gold"})
	u.SetAnnotations(map[string]string{"note": "Grüße"})
	u.Object["spec"] = map[string]any{
		"algorithm": "xgboost", "decisionThreshold": 0.25, "revisionId": int64(3), "sealed": true,
		"owner": map[string]any{"name": "ada"}, "modelFamily": map[string]any{"name": "churn"},
	}
	return u
}

// Project returns a Project with our finalizer.
func (b *Env) Project(name string) *unstructured.Unstructured {
	u := b.Object("Project", name)
	u.Object["spec"] = map[string]any{"description": name, "tier": int64(2), "owner": map[string]any{"owningTeam": "t"}}
	return u
}

// Object returns an object of a kind with our finalizer.
func (b *Env) Object(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(api.GroupVersion)
	u.SetKind(kind)
	u.SetNamespace(b.Namespace)
	u.SetName(name)
	u.SetFinalizers([]string{api.IngesterFinalizer})
	return u
}

// Create creates an object in the cluster.
func (b *Env) Create(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	if err := b.Client.Create(b.Context(), u); err != nil {
		b.Fatal(err)
	}
	return u
}

// Stored creates an object and stores it.
func (b *Env) Stored(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	b.Upsert(b.Create(u))
	return u
}

// Upsert stores an object.
func (b *Env) Upsert(u *unstructured.Unstructured) {
	b.Helper()
	if err := b.Store.Upsert(b.Context(), u, false, nil); err != nil {
		b.Fatal(err)
	}
}

// Get reads an object.
func (b *Env) Get(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	if err := b.Client.Get(b.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		b.Fatal(err)
	}
	return u
}

// Patch changes an object by a merge patch.
func (b *Env) Patch(u *unstructured.Unstructured, patch string) *unstructured.Unstructured {
	b.Helper()
	if err := b.Client.Patch(b.Context(), u, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		b.Fatal(err)
	}
	return u
}

// Delete deletes an object; its finalizers hold it.
func (b *Env) Delete(u *unstructured.Unstructured) {
	b.Helper()
	if err := b.Client.Delete(b.Context(), u); client.IgnoreNotFound(err) != nil {
		b.Fatal(err)
	}
}

// Wipe removes the finalizers of an object and deletes it, so that the ingester does not process the deletion.
func (b *Env) Wipe(u *unstructured.Unstructured) {
	b.Helper()
	b.Patch(u, `{"metadata":{"finalizers":null}}`)
	b.Delete(u)
}

// Older returns a copy of an object with a version that is older by one.
func Older(u *unstructured.Unstructured) *unstructured.Unstructured {
	n, err := strconv.ParseInt(u.GetResourceVersion(), 10, 64)
	if err != nil {
		n = 2
	}
	u = u.DeepCopy()
	u.SetResourceVersion(strconv.FormatInt(n-1, 10))
	return u
}

// Exec runs a statement.
func (b *Env) Exec(statement string, args ...any) {
	b.Helper()
	if _, err := b.DB.ExecContext(b.Context(), statement, args...); err != nil {
		b.Fatal(err)
	}
}
