package incarnation_test

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// history is the history of a cluster and its database. The database changes while a leader writes.
type history struct {
	*testing.T
	db       *sql.DB
	kinds    *registry.Registry
	rand     *rand.Rand
	version  int64 // of the cluster
	current  int64 // the incarnation of the leader
	rows     map[string]stored
	restored bool // since the last restart
	backup   struct {
		rows map[string]stored
		registered
	}
	log []string
}

// TestHistories restores the cluster and the database, also to an empty one, in any order between writes and new leaders.
// The writes of a new leader must be newer than all rows.
func TestHistories(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		seed := rand.Uint64()
		h := &history{T: t, db: db, kinds: kinds, rand: rand.New(rand.NewPCG(seed, 1)), version: 10}
		h.replace(nil, registered{})
		h.restart()
		for range 20 {
			h.step()
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(h.log, "\n"))
		}
	}
}

func (h *history) step() {
	h.Helper()
	switch h.rand.IntN(8) {
	case 0:
		own, _, err := incarnation.Stored(h.Context(), h.db, "one", "")
		if err != nil {
			h.Fatal(err)
		}
		h.backup.rows, h.backup.registered = maps.Clone(h.rows), registered{own: own.Int64}
		h.note("backed up")
	case 1:
		h.replace(h.backup.rows, h.backup.registered) // empty without a backup
		h.note("restored the database")
	case 2:
		h.version -= h.rand.Int64N(h.version)
		h.restored = true
		h.note("restored the cluster")
		if h.rand.IntN(2) == 0 { // a running leader detects it
			if _, err := incarnation.Bump(h.Context(), h.db, h.kinds, "one", h.current, time.Unix(0, 0)); err != nil {
				h.Fatal(err)
			}
		}
		h.restart()
	case 3, 4:
		h.restart()
	default:
		h.write()
	}
}

// replace replaces the database.
func (h *history) replace(rows map[string]stored, in registered) {
	h.Helper()
	if _, err := h.db.ExecContext(h.Context(), "DELETE FROM project"); err != nil {
		h.Fatal(err)
	}
	h.rows, h.restored = map[string]stored{}, true
	for uid, r := range rows {
		h.rows[uid] = r
		r.store(h.T, h.db)
	}
	in.store(h.T, h.db)
}

// write stores a new version of an object, as live, evicted or closed.
func (h *history) write() {
	h.Helper()
	h.version++
	r := stored{uid: fmt.Sprint(h.rand.IntN(3)), version: h.version, incarnation: h.current, evicted: h.rand.IntN(3) == 0}
	if !r.evicted && h.rand.IntN(3) == 0 {
		r.closed = time.Duration(h.version) * time.Second
	}
	if h.rows[r.uid].incarnation > h.current {
		return // stale
	}
	h.rows[r.uid] = r
	r.store(h.T, h.db)
	h.note(fmt.Sprintf("stored %+v", r))
}

func (h *history) restart() {
	h.Helper()
	got, err := incarnation.Resolve(h.Context(), h.db, h.kinds, "one", at(h.version), time.Unix(0, 0))
	if err != nil {
		h.Fatal(err)
	}
	if got != h.current && !h.restored {
		h.Errorf("the incarnation is bumped to %d without a restore", got)
	}
	h.current, h.restored = got, false
	h.note("restarted")
	for _, r := range h.rows {
		// The version of an evicted row is not compared: storage may increase it.
		if r.incarnation > got || r.incarnation == got && r.version > h.version && !r.evicted {
			h.Errorf("%+v is newer than the cluster", r)
		}
	}
}

func (h *history) note(what string) {
	h.log = append(h.log, fmt.Sprintf("incarnation %d, version %d: %s", h.current, h.version, what))
}
