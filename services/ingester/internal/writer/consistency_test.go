package writer_test

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jmoiron/sqlx"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// historyRow is a row with the version of its content and of its pairs.
type historyRow struct {
	UID, Name                        string
	Incarnation, Res                 int64
	Closed, Evicted                  bool
	Algorithm, JSONVersion, NameJSON string
}

func (r historyRow) version() version { return version{r.Incarnation, r.Res} }

type event struct {
	UID, Name, Operation string
	Res                  int64
}

func (e event) version() version { return version{e.Res%2 + 1, e.Res} }

func (h *history) check(db *sql.DB) {
	h.Helper()
	var rows []historyRow
	var events []event
	x := sqlx.NewDb(db, "mysql")
	if err := x.SelectContext(h.Context(), &rows, "SELECT uid, name, incarnation, res_version AS res, delete_time IS NOT NULL AS closed,"+
		" evict_time IS NOT NULL AS evicted, algorithm, JSON_UNQUOTE(JSON_EXTRACT(json, '$.metadata.resourceVersion')) AS jsonversion,"+
		" JSON_UNQUOTE(JSON_EXTRACT(json, '$.metadata.name')) AS namejson FROM model"); err != nil {
		h.Fatal(err)
	}
	if err := x.SelectContext(h.Context(), &events, "SELECT uid, name, operation, res_version AS res FROM outbox ORDER BY id"); err != nil {
		h.Fatal(err)
	}
	byUID := map[string]historyRow{}
	for _, r := range rows {
		byUID[r.UID] = r
	}
	h.checkRows(byUID)
	h.checkPairs(db, byUID)
	h.checkEvents(events)
	h.checkSequences(db)
	h.replay(events, byUID)
}

// highest returns the greatest version of each object among the calls that are chosen.
func (h *history) highest(chosen func(*call) bool) map[string]*call {
	out := map[string]*call{}
	for _, c := range h.calls {
		if best := out[c.UID]; chosen(c) && (best == nil || best.version().less(c.version())) {
			out[c.UID] = c
		}
	}
	return out
}

func written(c *call) bool {
	return c.outcome != writer.Stale && c.outcome != writer.Unchanged && c.outcome != writer.NotFound
}

// hasEvent reports whether a call has an event: amendments of ended objects have none.
func hasEvent(c *call) bool { return written(c) && c.outcome != writer.Amended }

// checkRows compares each row with the greatest version that was committed.
func (h *history) checkRows(rows map[string]historyRow) {
	h.Helper()
	highest, final := h.highest(written), h.highest(func(*call) bool { return true })
	live := map[string]string{}
	for uid, c := range final {
		row := rows[uid]
		if row.version() != highest[uid].version() {
			h.Errorf("%s is stored at %v, but %v was committed", uid, row.version(), highest[uid].version())
		}
		want, algorithm := strconv.FormatInt(row.Res, 10), fmt.Sprintf("algorithm-%d", highest[uid].content)
		if row.Algorithm != algorithm || row.JSONVersion != want || row.NameJSON != row.Name {
			h.Errorf("%s mixes versions: %+v", uid, row)
		}
		if !row.Closed {
			if other := live[row.Name]; other != "" {
				h.Errorf("%s and %s are live with the name %s", other, uid, row.Name)
			}
			live[row.Name] = uid
		}
		if h.unordered {
			continue
		}
		if row.Closed != (c.finalState == record.Closed) || !row.Closed && row.Evicted != (c.finalState == record.Evicted) {
			h.Errorf("%s ended in state %d, row %+v", uid, c.finalState, row)
		}
		// A closed row need not be updated without new content.
		if row.version() != c.version() && (c.finalState != record.Closed || highest[uid].content != c.content) {
			h.Errorf("%s is stored at %v, the newest version is %v", uid, row.version(), c.version())
		}
	}
}

// checkPairs compares labels and annotations with those of the stored version.
func (h *history) checkPairs(db *sql.DB, rows map[string]historyRow) {
	h.Helper()
	highest := h.highest(written)
	for table, get := range map[string]func(*unstructured.Unstructured) map[string]string{
		"model_labels": (*unstructured.Unstructured).GetLabels, "model_annotations": (*unstructured.Unstructured).GetAnnotations,
	} {
		got := map[string]map[string]string{}
		for uid := range rows {
			got[uid] = map[string]string{}
		}
		var pairs []struct{ UID, K, V string }
		if err := sqlx.NewDb(db, "mysql").SelectContext(h.Context(), &pairs, "SELECT obj_uid AS uid, `key` AS k, value AS v FROM "+table); err != nil {
			h.Fatal(err)
		}
		for _, p := range pairs {
			got[p.UID][p.K] = p.V
		}
		for uid, r := range rows {
			want := get(h.model(r.Name, uid, highest[uid].content))
			if !maps.Equal(got[uid], want) {
				h.Errorf("%s of %s at %v: %v, want %v", table, uid, r.version(), got[uid], want)
			}
		}
	}
}

// checkEvents requires one event for each commit, and no others except those of superseded rows.
func (h *history) checkEvents(events []event) {
	h.Helper()
	operations := map[writer.Outcome]contract.ChangeOperation{
		writer.Created: contract.ChangeCreated, writer.Updated: contract.ChangeUpdated, writer.Restored: contract.ChangeRestored,
		writer.Deleted: contract.ChangeDeleted, writer.Superseded: contract.ChangeDeleted, writer.Evicted: contract.ChangeEvicted,
	}
	want := map[event]int{}
	for _, c := range h.calls {
		if op, ok := operations[c.outcome]; ok {
			want[event{c.UID, c.Name, string(op), c.ResVersion}]++
		}
	}
	last := map[string]event{}
	for _, e := range events {
		previous, known := last[e.UID]
		last[e.UID] = e
		if known && e.version().less(previous.version()) {
			h.Errorf("event %+v after %+v", e, previous)
		}
		if want[e] > 0 {
			want[e]--
			continue
		}
		superseded := e.Operation == string(contract.ChangeDeleted) && known &&
			previous.Operation != string(contract.ChangeDeleted) && e.version() == previous.version()
		if !superseded {
			h.Errorf("event %+v has no commit", e)
		}
	}
	for e, n := range want {
		if n != 0 {
			h.Errorf("%d events are missing: %+v", n, e)
		}
	}
}

// checkSequences checks that the events of a name have rising sequences, whichever writer adds them. A sequence is the
// commit time and then the id.
func (h *history) checkSequences(db *sql.DB) {
	h.Helper()
	for _, pair := range dbtest.Strings(h, db, "SELECT CONCAT_WS(' ', a.uid, a.res_version, a.operation, 'at', a.committed_at, 'before',"+
		" b.uid, b.res_version, b.operation, 'at', b.committed_at)"+
		" FROM outbox a JOIN outbox b ON a.name = b.name AND a.id < b.id AND a.committed_at > b.committed_at ORDER BY a.id, b.id LIMIT 3") {
		h.Errorf("the sequence goes back: %s", pair)
	}
}

func ofName(events []event, name string) (out []string) {
	for _, e := range events {
		if e.Name == name {
			out = append(out, fmt.Sprintf("%s %v %s", e.UID, e.version(), e.Operation))
		}
	}
	return out
}

// replay applies the events like a consumer: of a name one object is live at any time, and the
// result is the table.
func (h *history) replay(events []event, rows map[string]historyRow) {
	h.Helper()
	live := map[string]string{} // uid by name
	state := map[string]event{}
	for _, e := range events {
		state[e.UID] = e
		switch other := live[e.Name]; {
		case e.Operation == string(contract.ChangeDeleted):
			if other == e.UID {
				delete(live, e.Name)
			}
		case other != "" && other != e.UID:
			h.Errorf("%+v begins while %s is live: %+v", e, other, ofName(events, e.Name))
		default:
			live[e.Name] = e.UID
		}
	}
	highest := h.highest(hasEvent)
	for uid, r := range rows {
		e := state[uid]
		closed := e.Operation == string(contract.ChangeDeleted)
		evicted := e.Operation == string(contract.ChangeEvicted)
		if e.version() != highest[uid].version() || closed != r.Closed || !closed && evicted != r.Evicted {
			h.Errorf("the last event is %+v, the row %+v", e, r)
		}
	}
	if uids := slices.Collect(maps.Keys(state)); len(uids) != len(rows) {
		h.Errorf("%d objects have events, %d have rows", len(uids), len(rows))
	}
}
