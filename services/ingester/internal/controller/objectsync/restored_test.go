package objectsync

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/sweep"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// backups restores the database of a history from older backups, with the real checkpoint
// and the real sweep next to it.
type backups struct {
	*checkpoint.Tracker
	h         *history
	model     *registry.Kind
	configs   *configMaps
	saved     bool  // a backup exists
	number    int64 // the checkpoint in the backup
	restored  bool
	lost      bool // a restore followed the deletion of the object
	unseen    bool // only finalizers of others held the object at a restore, and it was not reconciled since: its end equals lost
	evicted   bool // the object was evicted
	ambiguous bool // an eviction can no longer be distinguished from a deletion
	found     bool // the restored database has a row of it
	lacking   bool // the restored database has no row of an object that only foreign finalizers hold
	// closedBefore: the restored database has closed the row of an object that only foreign finalizers hold. It counts as
	// deleted, also if the row was closed by mistake.
	closedBefore bool
}

func newBackups(h *history, model *registry.Kind) *backups {
	b := &backups{h: h, model: model, configs: &configMaps{fault: h.fault}}
	b.exec("CREATE TABLE IF NOT EXISTS backup LIKE model")
	b.exec("DELETE FROM backup")
	b.exec("DELETE FROM checkpoint")
	b.exec("INSERT IGNORE INTO incarnation (cluster_uid, incarnation, raised_at) VALUES ('cluster', 1, NOW(6))")
	b.newFakeStorage()
	return b
}

// newFakeStorage returns storage without state.
func (b *backups) newFakeStorage() {
	var err error
	b.Tracker, err = checkpoint.New(checkpoint.Config{
		DB: b.h.db, Cluster: &checkpoint.Cluster{APIReader: b.configs, Writer: b.configs, Namespace: "flotilla-system"},
		Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	if err != nil {
		b.h.Fatal(err)
	}
}

func (b *backups) exec(statement string, args ...any) {
	b.h.Helper()
	if _, err := b.h.db.ExecContext(b.h.Context(), statement, args...); err != nil {
		b.h.Fatal(err)
	}
}

// backUpOrRestore makes a backup of the database, or restores the last one.
func (b *backups) backUpOrRestore() {
	if !b.saved || b.h.rand.IntN(2) == 0 {
		b.saved = true
		b.exec("DELETE FROM backup")
		b.exec("INSERT INTO backup SELECT * FROM model WHERE uid = ?", b.h.uid)
		b.number, _ = strconv.ParseInt(dbtest.Strings(b.h, b.h.db, "SELECT COALESCE(MAX(number), 0) FROM checkpoint")[0], 10, 64)
		b.h.note("back up")
		return
	}
	if b.h.object == nil && !b.lost { // later ones only repeat it
		b.lost, b.evicted = true, b.h.row().evicted && !b.h.deleted
	}
	b.restored = true
	released := b.h.object != nil && b.h.released()
	b.ambiguous = b.ambiguous || released
	b.unseen = released
	b.exec("DELETE FROM model WHERE uid = ?", b.h.uid)
	b.exec("INSERT INTO model SELECT * FROM backup")
	b.exec("DELETE FROM checkpoint")
	b.exec("INSERT INTO checkpoint (id, number) VALUES (1, ?)", b.number)
	row := b.h.row()
	b.h.closed, b.found, b.closedBefore = row.closed, row.found && !row.closed, released && row.closed
	b.h.purged, b.lacking = false, released && !row.found
	b.newFakeStorage()
	b.h.note("restore the database")
	if b.h.object != nil {
		b.h.restart()
		return
	}
	b.h.deliver(len(b.h.versions))
	b.h.controller.last = lastStates{}
}

// sweep runs the real sweep. It must not close the row of an evicted object.
func (b *backups) sweep() {
	b.h.Helper()
	before := b.h.row()
	s, err := sweep.New(sweep.Config{
		DB: b.h.db, Kinds: []*registry.Kind{b.model}, Close: b.h.store.IngesterStorage.(*mysql.Storage).CloseRows, Checkpoint: b.Check,
		APIReader: &lister{b.h.apiServer}, Clock: clock.RealClock{}, Random: func() float64 { return 0 }, Log: logr.Discard(),
	})
	if err != nil {
		b.h.Fatal(err)
	}
	err = s.Sweep(b.h.Context())
	after := b.h.row()
	b.h.log = append(b.h.log, fmt.Sprintf("%-18s %v, row %+v", "swept", err, after))
	if b.evicted && !before.closed && after.closed {
		b.h.Errorf("the only copy of %s is closed", b.h.uid)
	}
	b.h.closed = after.closed
}

// accept continues with the database as ingester checkpoint --accept does.
func (b *backups) accept() {
	b.h.Helper()
	if err := b.Check(b.h.Context()); !errors.Is(err, checkpoint.ErrBehind) {
		return
	}
	store := b.h.store.IngesterStorage.(*mysql.Storage)
	switch {
	case b.h.object == nil:
		page, err := rows.Page(b.h.Context(), b.h.db, b.model, rows.Query{State: rows.InCluster, UIDs: []string{b.h.uid}, Limit: 1})
		if err != nil {
			b.h.Fatal(err)
		}
		if _, err := store.EvictRows(b.h.Context(), b.model, page); err != nil {
			b.h.Fatal(err)
		}
	case b.h.released():
		if _, err := checkpoint.StoreReleased(b.h.Context(), store, b.h.object.DeepCopy()); err != nil {
			b.h.Fatal(err)
		}
	}
	if err := checkpoint.Accept(b.h.Context(), b.h.db, b.configs.number()); err != nil {
		b.h.Fatal(err)
	}
	if b.h.row().found {
		b.h.purged, b.lacking = false, false
	}
	b.h.note("accept")
	if err := b.Check(b.h.Context()); err != nil {
		b.h.Fatal(err)
	}
	b.sweep()
}

// checkInOlderDatabase checks an object that no longer existed when the database was restored.
func (h *history) checkInOlderDatabase(row storedRow) {
	h.Helper()
	if h.evicted && h.found && (row.closed || !row.evicted) {
		h.Errorf("the only copy of %s is %+v", h.uid, row)
	}
	if open := dbtest.Strings(h, h.db, "SELECT COUNT(*) FROM model WHERE uid = ? AND delete_time IS NULL AND evict_time IS NULL", h.uid); open[0] != "0" {
		h.sweep() // no object was evicted: the sweep closes the row
		if row = h.row(); !row.closed {
			h.Errorf("the row of %s, which no longer exists, stays open: %+v", h.uid, row)
		}
	}
}

// configMaps is a fake API server with the ConfigMap of the checkpoint.
type configMaps struct {
	client.Writer
	object *corev1.ConfigMap
	fault  func() bool
}

func (c *configMaps) number() int64 {
	n, _ := strconv.ParseInt(c.object.Data["number"], 10, 64)
	return n
}

func (c *configMaps) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if c.fault() {
		return errBroke
	}
	if c.object == nil {
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	c.object.DeepCopyInto(o.(*corev1.ConfigMap))
	return nil
}

func (*configMaps) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errBroke
}

func (c *configMaps) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if c.object != nil {
		return apierrors.NewAlreadyExists(corev1.Resource("configmaps"), o.GetName())
	}
	return c.put(o)
}

func (c *configMaps) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	if c.object == nil || o.GetResourceVersion() != c.object.GetResourceVersion() {
		return apierrors.NewConflict(corev1.Resource("configmaps"), o.GetName(), errBroke)
	}
	return c.put(o)
}

func (c *configMaps) put(o client.Object) error {
	if c.fault() {
		return errBroke
	}
	o.SetResourceVersion(strconv.FormatInt(time.Now().UnixNano(), 10))
	c.object = o.(*corev1.ConfigMap).DeepCopy()
	if c.fault() {
		return errBroke
	}
	return nil
}

// lister lists the one object for the sweep.
type lister struct{ *apiServer }

func (l *lister) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if key.Name == metav1.NamespaceSystem {
		o.SetUID("cluster")
		return nil
	}
	if l.object == nil || l.object.GetName() != key.Name {
		return apierrors.NewNotFound(models, key.Name)
	}
	o.SetUID(l.object.GetUID())
	return nil
}

func (l *lister) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	page := list.(*metav1.PartialObjectMetadataList)
	page.SetResourceVersion(strconv.Itoa(max(l.version, 1000)))
	if l.object != nil && strings.HasSuffix(page.Kind, "List") {
		page.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{UID: l.object.GetUID()}}}
	}
	return nil
}
