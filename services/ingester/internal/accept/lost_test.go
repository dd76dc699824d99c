package accept_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
)

// ready waits until /readyz/mysql of the ingester has the status, and text in its body.
func (d *disaster) ready(status int, text string) {
	d.Helper()
	expect.Eventually(d.TB, expect.Long, func() error {
		req, err := http.NewRequestWithContext(d.Context(), http.MethodGet, "http://"+d.Health+"/readyz/mysql", http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return err
		}
		if response.StatusCode != status || !strings.Contains(string(body), text) {
			return fmt.Errorf("status %d, %s", response.StatusCode, body)
		}
		return nil
	})
}

func (d *disaster) drop(tables ...string) {
	d.Helper()
	for _, name := range tables {
		d.Exec("DROP TABLE " + schema.Quote(name))
	}
}

// migrateAgain runs all migrations again, as docs/migrations.md describes.
func (d *disaster) migrateAgain() {
	d.Helper()
	d.Exec("DELETE FROM goose_db_version")
	if _, err := migrations.Up(d.Context(), d.DB); err != nil {
		d.Fatal(err)
	}
	if problems, err := migrations.Verify(d.Context(), d.DB); err != nil || len(problems) > 0 {
		d.Fatalf("problems %v, %v", problems, err)
	}
}

// TestAcceptLostDatabase starts the ingester with an empty database.
func TestAcceptLostDatabase(t *testing.T) {
	d, _, kept := evictedSince(t, mysqltest.MySQL, nil)
	d.stop()
	d.drop(append(d.tables(), "goose_db_version")...)
	d.start()
	d.ready(http.StatusOK, "")
	d.eventually("kept live")
	d.isOlder()
	d.Patch(kept, immutable)
	d.accept()
	d.eventually("kept evicted")
	expect.Deleted(t, d.Client, kept)
	d.agrees()
}

// TestAcceptRestoredTable loses tables of a kind while the ingester runs, and restores them from the older backup.
func TestAcceptRestoredTable(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			d, _, _ := evictedSince(t, vendor, nil)
			for _, name := range []string{"model_annotations", "model_labels", "model"} { // the probe reads the main table first
				d.drop(name)
				d.ready(http.StatusInternalServerError, "."+name+"'")
			}
			d.stop()
			d.restore("model", "model_labels", "model_annotations", schema.CheckpointTable)
			d.start()
			d.ready(http.StatusOK, "")
			d.isOlder()
			d.accept("evicted", "deleted")
			d.eventually("first evicted, evicted evicted, kept live, deleted evicted")
			d.closeRow("deleted")
			d.eventually("first evicted, evicted evicted, kept live, deleted closed")
			d.agrees()
		})
	}
}

// TestAcceptLostCheckpoint creates the table checkpoint again: it is empty, so the database counts as older until it
// is accepted, and loses nothing.
func TestAcceptLostCheckpoint(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			d, _, kept := evictedSince(t, vendor, nil)
			d.drop(schema.CheckpointTable)
			d.ready(http.StatusInternalServerError, "."+schema.CheckpointTable+"'")
			d.migrateAgain()
			d.ready(http.StatusOK, "")
			d.isOlder()
			d.accept()
			d.Patch(kept, immutable)
			expect.Deleted(t, d.Client, kept)
			d.eventually("first evicted, evicted evicted, kept evicted, deleted closed")
			d.agrees()
		})
	}
}

// TestRestoreNewerBackup restores a backup that contains all evictions: nothing is lost, and nothing must be accepted.
func TestRestoreNewerBackup(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			d, _, kept := evictedSince(t, vendor, nil)
			d.stop()
			d.backUp()
			d.drop(d.tables()...)
			d.restoreAll()
			if out, err := d.checkpoint(false); err != nil {
				t.Errorf("%s%v", out, err)
			}
			d.start()
			d.Patch(kept, immutable)
			expect.Deleted(t, d.Client, kept)
			d.eventually("first evicted, evicted evicted, kept evicted, deleted closed")
			d.agrees()
		})
	}
}
