package accept_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// backedUp is a disaster with a backup of etcd that is newer than that of MySQL. Since both, the Models kept and late
// were evicted, updated was changed, and again was deleted.
type backedUp struct {
	*disaster
	etcd cluster.Snapshot
	was  []string // the content of the evicted rows
}

func newBackedUp(t *testing.T, vendor mysqltest.Vendor) *backedUp {
	t.Helper()
	env := commandtest.NewIn(t, cluster.Private(t, clusterOptions), mysqltest.DSNOf(t, vendor))
	d, _, kept := evictedSinceIn(env, nil)
	updated, again := d.Create(d.Model("updated")), d.Create(d.Model("again"))
	d.eventually("first evicted, evicted evicted, kept live, deleted closed, updated live, again live")
	d.stop()
	d.Patch(kept, immutable) // is evicted after the backup
	b := &backedUp{disaster: d, etcd: d.Plane.Save(t)}
	d.start()
	expect.Deleted(t, d.Client, kept)
	d.Patch(updated, `{"spec":{"algorithm":"lost"}}`)
	d.Delete(again)
	late := d.Create(d.Model("late"))
	d.eventually("first evicted, evicted evicted, kept evicted, deleted closed, updated live, again closed, late live")
	d.Patch(late, immutable)
	expect.Deleted(t, d.Client, late)
	d.eventually("first evicted, evicted evicted, kept evicted, deleted closed, updated live, again closed, late evicted")
	b.was = b.evicted()
	return b
}

// evicted returns the content of the evicted rows.
func (b *backedUp) evicted() []string {
	b.Helper()
	return dbtest.Strings(b.TB, b.DB, "SELECT CONCAT(name, ' ', uid, ' ', JSON_EXTRACT(json, '$.spec')) FROM model"+
		" WHERE evict_time IS NOT NULL AND delete_time IS NULL ORDER BY name")
}

// restoreBoth follows the steps of docs/disaster.md.
func (b *backedUp) restoreBoth() {
	b.Helper()
	b.stop()
	b.restoreAll()
	b.Plane.Restore(b.TB, b.etcd)
	b.start()
}

// numbers returns the two numbers of evictions.
func (b *backedUp) numbers() (database, inCluster int64) {
	b.Helper()
	database, err := checkpoint.Stored(b.Context(), b.DB)
	if err != nil {
		b.Fatal(err)
	}
	inCluster, err = (&checkpoint.Cluster{APIReader: b.Client, Namespace: b.Namespace}).Read(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return database, inCluster
}

// back checks that rows and objects are equal, that both numbers are, and that no content of the evicted rows is lost.
func (b *backedUp) back(lost ...string) {
	b.Helper()
	b.agrees()
	expect.Eventually(b.TB, expect.Long, func() error {
		if database, inCluster := b.numbers(); database != inCluster || database == 0 {
			return fmt.Errorf("the database has number %d, the cluster %d", database, inCluster)
		}
		return nil
	})
	rows := strings.Join(b.evicted(), "\n")
	for _, was := range b.was {
		name, _, _ := strings.Cut(was, " ")
		if isLost := slices.Contains(lost, name); strings.Contains(rows, was) == isLost {
			b.Errorf("lost: %t, row %s, of the rows\n%s", isLost, was, rows)
		}
	}
}

// TestAcceptAfterRestoreOfClusterAndDatabase restores a backup of etcd and an older one of MySQL. Only the object that
// was created and evicted since both is lost.
func TestAcceptAfterRestoreOfClusterAndDatabase(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t, mysqltest.MariaDB)
	b.restoreBoth()
	b.isOlder()
	b.eventually("first evicted, evicted live, kept live, deleted live, updated live, again live")
	b.stop()
	b.start()
	b.accept("evicted", "deleted")
	b.eventually("first evicted, evicted evicted, kept evicted, deleted evicted, updated live, again live")
	b.closeRow("deleted")
	b.eventually("first evicted, evicted evicted, kept evicted, deleted closed, updated live, again live")
	b.back("late")
}

// TestRestoreOfClusterBeforeDatabase restores a backup of etcd and a newer one of MySQL: nothing must be accepted, and
// nothing is lost.
func TestRestoreOfClusterBeforeDatabase(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t, mysqltest.MySQL)
	b.backUp()
	b.restoreBoth()
	if database, inCluster := b.numbers(); database <= inCluster {
		t.Errorf("the database has number %d, the cluster %d", database, inCluster)
	}
	b.eventually("first evicted, evicted evicted, kept evicted, deleted closed, updated live, again live, late evicted")
	b.back()
}
