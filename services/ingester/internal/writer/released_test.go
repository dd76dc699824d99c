package writer_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// TestDeletionHasOneEvent writes an object that loses its finalizers one by one: each change is a
// version, and none of them has an event.
func TestDeletionHasOneEvent(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	w := newWriter(t, db)
	o := dbtest.Model("m", "a", 3)
	next := func(version string, change func()) writer.Outcome {
		o.SetResourceVersion(version)
		change()
		return write(t, w, build(t, o, record.Closed))
	}
	equal(t, "marked", writer.Deleted, next("4", func() { o.SetAnnotations(map[string]string{"michelangelo/Deleting": "true"}) }))
	equal(t, "without our finalizer", writer.Unchanged, next("5", func() { o.SetFinalizers([]string{"example.com/other"}) }))
	equal(t, "terminating", writer.Unchanged, next("6", func() {
		now := dbtest.Model("m", "a", 3).GetCreationTimestamp()
		now.Time = now.Add(time.Hour)
		o.SetDeletionTimestamp(&now)
		o.SetGeneration(2)
	}))
	equal(t, "edited", writer.Amended, next("7", func() {
		if err := unstructured.SetNestedField(o.Object, "lightgbm", "spec", "algorithm"); err != nil {
			t.Fatal(err)
		}
	}))
	equal(t, "without finalizers", writer.Unchanged, next("8", func() { o.SetFinalizers(nil) }))
	equal(t, "the same again", writer.Unchanged, next("8", func() {}))
	equal(t, "rows", []string{"a 1 7 closed lightgbm"}, rows(t, db))
	equal(t, "events", []string{"a 4 deleted"}, events(t, db))
}

// TestEvictedRowHasDeletedVersion writes an evicted object until it is deleted: the row has the
// deleted version, although only finalizers have changed.
func TestEvictedRowHasDeletedVersion(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	w := newWriter(t, db)
	o := dbtest.Model("m", "a", 3)
	next := func(version string, state record.State, change func()) writer.Outcome {
		o.SetResourceVersion(version)
		change()
		return write(t, w, build(t, o, state))
	}
	equal(t, "marked", writer.Evicted, next("4", record.Evicted, func() { o.SetFinalizers([]string{"example.com/other"}) }))
	equal(t, "without our finalizer", writer.Amended, next("5", record.Evicted, func() { o.SetGeneration(2) }))
	equal(t, "edited", writer.Evicted, next("6", record.Released, func() {
		if err := unstructured.SetNestedField(o.Object, "lightgbm", "spec", "trainingFramework"); err != nil {
			t.Fatal(err)
		}
	}))
	equal(t, "without finalizers", writer.Amended, next("7", record.Released, func() { o.SetFinalizers(nil) }))
	equal(t, "rows", []string{"a 1 7 live evicted algorithm-3"}, rows(t, db))
	equal(t, "events", []string{"a 4 evicted", "a 6 evicted"}, events(t, db))
}

// TestReleasedObjectWithoutRow writes an object whose row was deleted after it was closed. The batch of the second object
// follows one of new objects, which is a hint that it has no row either.
func TestReleasedObjectWithoutRow(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	w := newWriter(t, db, func(c *writer.Config) { c.MaxRows, c.Slots = 2, 1 })
	equal(t, "without a row", writer.NotFound, write(t, w, model(t, "m", "a", 3, record.Released)))
	equal(t, "new", writer.Created, write(t, w, model(t, "n", "b", 4, record.Live)))
	equal(t, "with the row of the batch before", writer.Deleted, write(t, w, model(t, "n", "b", 6, record.Released)))
	equal(t, "rows", []string{"b 1 6 closed algorithm-6"}, rows(t, db))
	equal(t, "events", []string{"b 4 created", "b 6 deleted"}, events(t, db))
}

// TestEvictionHasOneEventWithRewrittenNumbers evicts an object with a number that MySQL writes in another way.
func TestEvictionHasOneEventWithRewrittenNumbers(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			db := dbtest.Open(t, mysqltest.DSNOf(t, vendor))
			dbtest.Migrate(t, db)
			w := newWriter(t, db)
			o := dbtest.Model("m", "a", 3)
			if err := unstructured.SetNestedField(o.Object, 1e21, "spec", "decisionThreshold"); err != nil {
				t.Fatal(err)
			}
			equal(t, "evicted", writer.Evicted, write(t, w, build(t, o, record.Evicted)))
			o.SetResourceVersion("4")
			o.SetFinalizers(nil)
			equal(t, "without finalizers", writer.Amended, write(t, w, build(t, o, record.Evicted)))
			equal(t, "events", []string{"a 3 evicted"}, events(t, db))
		})
	}
}
