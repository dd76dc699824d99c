package writer_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// After a batch of new objects the next one is inserted without a read. If it has objects that
// exist after all, its outcome must be the same as with a read.
func TestWrongInsertHintKeepsOutcome(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	w := newWriter(t, db, func(c *writer.Config) { c.MaxRows, c.Slots = 4, 1 })
	all := func(version int64, names ...string) map[string]writer.Outcome {
		var mu sync.Mutex
		var wg sync.WaitGroup
		out := map[string]writer.Outcome{}
		for _, name := range names {
			wg.Go(func() {
				outcome, err := w.Write(t.Context(), model(t, name, name, version, record.Live))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				out[name] = outcome
			})
		}
		wg.Wait()
		return out
	}
	for round := range 5 {
		name := func(n int) string { return fmt.Sprintf("r%d-%d", round, n) }
		all(5, name(1), name(2), name(3), name(4), name(5), name(6))
		got := all(5, name(1), name(2), name(3), name(4), name(7), name(8))
		for n, want := range map[int]writer.Outcome{1: writer.Unchanged, 4: writer.Unchanged, 7: writer.Created, 8: writer.Created} {
			if got[name(n)] != want {
				t.Errorf("%s is %s, want %s", name(n), got[name(n)], want)
			}
		}
		got = all(4, name(1), name(2), name(3), name(4))
		if got[name(1)] != writer.Stale || got[name(4)] != writer.Stale {
			t.Errorf("older versions are %v, want them stale", got)
		}
	}
	equal(t, "events", []string{"40"}, dbtest.Strings(t, db, "SELECT COUNT(*) FROM outbox"))
	equal(t, "versions", []string{"5"}, dbtest.Strings(t, db, "SELECT DISTINCT res_version FROM model"))
}
