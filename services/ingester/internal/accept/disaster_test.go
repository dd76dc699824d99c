package accept_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/accept"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/verify"
)

var clusterOptions = cluster.Options{CRDs: []string{"../../config/crd"}, Nodes: 1}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, clusterOptions))
}

// disaster is an installation whose database is backed up and restored. The tests follow the
// steps of docs/disaster.md.
type disaster struct {
	*commandtest.Env
	stop func()
}

const immutable = `{"metadata":{"annotations":{"` + api.ImmutableAnnotation + `":"true"}}}`

// evictedSince returns a disaster with the Models evicted, deleted and kept. The backup is older
// than the end of the first two, and the ingester runs.
func evictedSince(t *testing.T, vendor mysqltest.Vendor, conn *bus.Conn) (d *disaster, evicted, kept *unstructured.Unstructured) {
	t.Helper()
	return evictedSinceIn(commandtest.NewOf(t, vendor), conn)
}

func evictedSinceIn(env *commandtest.Env, conn *bus.Conn) (d *disaster, evicted, kept *unstructured.Unstructured) {
	env.Helper()
	d = &disaster{Env: env}
	d.Bus = conn
	d.SweepInterval = 300 * time.Millisecond
	d.start()
	first := d.Create(d.Model("first")) // the number is not 0 in the backup
	evicted, kept = d.Create(d.Model("evicted")), d.Create(d.Model("kept"))
	deleted := d.Create(d.Model("deleted"))
	d.eventually("first live, evicted live, kept live, deleted live")
	d.Patch(first, immutable)
	d.eventually("first evicted, evicted live, kept live, deleted live")
	expect.Deleted(env.TB, d.Client, first)
	d.backUp()
	d.Patch(evicted, immutable)
	d.Delete(deleted)
	expect.Deleted(env.TB, d.Client, evicted)
	expect.Deleted(env.TB, d.Client, deleted)
	d.eventually("first evicted, evicted evicted, kept live, deleted closed")
	return d, evicted, kept
}

func (d *disaster) start() { d.stop = d.Start() }

func (d *disaster) tables() []string {
	var out []string
	for _, table := range schema.Tables(d.Kinds) {
		out = append(out, table.Name)
	}
	return out
}

func (d *disaster) backUp() {
	d.Helper()
	for _, name := range d.tables() {
		d.Exec("DROP TABLE IF EXISTS backup_" + name)
		d.Exec("CREATE TABLE backup_" + name + " LIKE " + schema.Quote(name))
		d.Exec("INSERT INTO backup_" + name + " SELECT * FROM " + schema.Quote(name))
	}
}

// restore restores tables from the backup, in the order of a dump. The tables may be lost.
func (d *disaster) restore(tables ...string) {
	d.Helper()
	for _, name := range tables {
		d.Exec("CREATE TABLE IF NOT EXISTS " + schema.Quote(name) + " LIKE backup_" + name)
		d.Exec("DELETE FROM " + schema.Quote(name))
		d.Exec("INSERT INTO " + schema.Quote(name) + " SELECT * FROM backup_" + name)
	}
}

func (d *disaster) restoreAll() {
	d.Helper()
	d.restore(append([]string{schema.CheckpointTable}, d.tables()...)...)
}

func (d *disaster) rows() string {
	d.Helper()
	return strings.Join(dbtest.Strings(d.TB, d.DB, "SELECT CONCAT(name, ' ', IF(delete_time IS NOT NULL, 'closed', IF(evict_time IS NOT NULL, 'evicted', 'live')))"+
		" FROM model ORDER BY FIELD(name, 'first', 'evicted', 'kept', 'deleted', 'updated', 'again', 'late'), delete_time IS NULL"), ", ")
}

func (d *disaster) eventually(want string) {
	d.Helper()
	expect.Eventually(d.TB, expect.Long, func() error {
		if got := d.rows(); got != want {
			return fmt.Errorf("rows: %s, want %s", got, want)
		}
		return nil
	})
}

// checkpoint runs the command.
func (d *disaster) checkpoint(accepted bool) (string, error) {
	d.Helper()
	var out bytes.Buffer
	err := (&accept.Command{Accept: accepted}).Run(d.Context(), d.Env.Env, &out)
	return out.String(), err
}

// isOlder checks that the command and verify reject the database.
func (d *disaster) isOlder() {
	d.Helper()
	var incomplete command.IncompleteError
	if out, err := d.checkpoint(false); !errors.As(err, &incomplete) || !strings.Contains(out, "DATABASE  CLUSTER  KEPT  CLOSED\n") {
		d.Fatalf("%s%v", out, err)
	}
	if err := accept.Behind(d.Context(), d.Env.Env); !errors.Is(err, checkpoint.ErrBehind) {
		d.Fatalf("behind: %v", err)
	}
}

// accept runs the command with --accept and checks that rows without an object are kept.
func (d *disaster) accept(kept ...string) {
	d.Helper()
	out, err := d.checkpoint(true)
	if err != nil {
		d.Fatal(err)
	}
	for _, name := range kept {
		if !strings.Contains(out, d.Namespace+"/"+name) {
			d.Errorf("%s is not kept:\n%s", name, out)
		}
	}
}

// closeRow closes the row of a Model, as DELETE of the HTTP API does.
func (d *disaster) closeRow(name string) {
	d.Helper()
	if err := d.Store.Delete(d.Context(), &metav1.TypeMeta{APIVersion: api.GroupVersion, Kind: "Model"}, d.Namespace, name); err != nil {
		d.Fatal(err)
	}
}

// TestAcceptOlderBackup follows docs/disaster.md while the ingester runs during the restore, as in a
// failover to a replica that lacks transactions.
func TestAcceptOlderBackup(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			d, _, kept := evictedSince(t, vendor, nil)
			d.restoreAll()
			d.isOlder()
			d.Patch(kept, immutable) // is not evicted meanwhile
			const older = "first evicted, evicted live, kept live, deleted live"
			expect.Never(t, 3*time.Second, func() error {
				if got := d.rows(); got != older {
					return fmt.Errorf("rows: %s", got)
				}
				return d.Client.Get(t.Context(), client.ObjectKeyFromObject(kept), kept)
			})
			repaired(t, d)
			d.stop()
			d.start()
			d.accept("evicted", "deleted")
			d.eventually("first evicted, evicted evicted, kept evicted, deleted evicted")
			expect.Deleted(t, d.Client, kept)
			d.closeRow("deleted")
			d.eventually("first evicted, evicted evicted, kept evicted, deleted closed")
			d.agrees()
		})
	}
}

// agrees checks that the database is not older, that verify --repair has nothing left to do, and that all rows then
// equal the objects of the cluster.
func (d *disaster) agrees() {
	d.Helper()
	if out, err := d.checkpoint(false); err != nil {
		d.Errorf("%s%v", out, err)
	}
	var out bytes.Buffer
	if err := (&verify.Command{Repair: true}).Run(d.Context(), d.Env.Env, &out); err != nil {
		d.Errorf("%s%v", &out, err)
	}
	report, err := verify.Compare(d.Context(), d.Env.Env, verify.Options{Deep: true, SettleTimeout: expect.Long})
	if err != nil || len(report.Differences) > 0 {
		d.Errorf("differences %v, %v", report.Differences, err)
	}
}

// repaired runs verify --repair and checks that rows without an object stay.
func repaired(t *testing.T, d *disaster) {
	t.Helper()
	report, err := verify.Compare(t.Context(), d.Env.Env, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := verify.Repair(t.Context(), d.Env.Env, report, true)
	if err != nil || result.Closed != 0 || len(result.Left) < 2 {
		t.Fatalf("repaired %+v, %v", result, err)
	}
}
