package writer_test

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/jmoiron/sqlx"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// Sizes of a history.
const (
	histories      = 4 // on each server
	historyNames   = 6
	objectsPerName = 3  // objects of a name, one after the other
	steps          = 10 // versions of an object
	copies         = 2  // of each version, in any order
	heldVersions   = 4  // versions of an ended object with foreign finalizers, at most
	callers        = 24
)

// call is one call of Write by one of the two writers.
type call struct {
	*record.Record
	incarnation int64
	// content is the version that changed the content, and finalState that of the row.
	content    int64
	finalState record.State
	outcome    writer.Outcome
}

func (c *call) version() version { return version{c.incarnation, c.ResVersion} }

// version compares like the version of package decision.
type version struct{ incarnation, res int64 }

func (v version) less(o version) bool {
	return v.incarnation < o.incarnation || v.incarnation == o.incarnation && v.res < o.res
}

// TestRandomHistories has two ingesters write the same objects in any order: the cluster of the
// second one was restored from a backup, so its versions are lower and supersede the others.
func TestRandomHistories(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, mysqltest.DSNOf(t, vendor))
			dbtest.Migrate(t, db)
			for i, seed := range seeds(t) {
				t.Run(fmt.Sprintf("wild=%t/seed=%d", i%2 == 1, seed), func(t *testing.T) {
					for _, table := range []string{"model", "model_labels", "model_annotations", "outbox"} {
						if _, err := db.ExecContext(t.Context(), "DELETE FROM "+table); err != nil {
							t.Fatal(err)
						}
					}
					h := newHistory(t, seed, i%2 == 1)
					h.run(db)
					h.check(db)
				})
			}
		})
	}
}

// seeds returns new seeds each time; FLOTILLA_SEED repeats one. The names of the tests have them.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	out := make([]uint64, histories)
	for i := range out {
		out[i] = rand.Uint64() >> 32
		if text := os.Getenv("FLOTILLA_SEED"); text != "" {
			seed, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			out[i] = seed
		}
	}
	return out
}

type history struct {
	*testing.T
	rand    *rand.Rand
	builder *record.Builder
	calls   []*call
	// trailing are calls after all others: only an ended object has foreign finalizers.
	trailing []*call
	// unordered histories have states in any order, which no cluster shows. In the others an
	// object is live, then perhaps evicted, then perhaps closed, then perhaps held by foreign
	// finalizers, where it may be changed and marked as immutable, and ends before the next
	// one of its name begins: what must remain is known beforehand.
	unordered bool
}

func newHistory(t *testing.T, seed uint64, unordered bool) *history {
	t.Helper()
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	h := &history{T: t, rand: rand.New(rand.NewPCG(seed, 1)), unordered: unordered}
	if h.builder, err = record.NewBuilder(kinds); err != nil {
		t.Fatal(err)
	}
	for n := range historyNames {
		for index := range objectsPerName {
			h.object(n, index)
		}
	}
	for _, calls := range [][]*call{h.calls, h.trailing} {
		h.rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	}
	return h
}

// object adds the calls for one object. Versions of incarnation 1 are even, those of 2 odd,
// so that an event, which has no incarnation, identifies it.
func (h *history) object(name, index int) {
	h.Helper()
	closed := index < objectsPerName-1 || h.rand.IntN(2) == 0
	last, evictFrom, closeFrom := 2*steps-1, 2*steps, 2*steps
	if closed {
		closeFrom = last - h.rand.IntN(3)
	}
	if h.rand.IntN(3) == 0 {
		evictFrom = closeFrom - h.rand.IntN(4)
	}
	for step := range 2 * steps {
		if step < last && h.rand.IntN(4) == 0 {
			continue // a version that the watch never showed
		}
		state := record.Live
		switch {
		case h.unordered:
			state = record.State(h.rand.IntN(4))
		case step >= closeFrom:
			state = record.Closed
		case step >= evictFrom:
			state = record.Evicted
		}
		incarnation := int64(step/steps) + 1
		res := int64(2*(index*100+step%steps)) + incarnation - 1
		r := h.record(name, index, res, res, state)
		for range copies {
			h.calls = append(h.calls, &call{Record: r, incarnation: incarnation, content: res, finalState: state})
		}
	}
	if lastCall := h.calls[len(h.calls)-1]; !h.unordered && lastCall.State != record.Live {
		h.addHeldVersions(name, index, lastCall)
	}
}

// addHeldVersions adds versions of an ended object. Some change no content, since other controllers remove
// their finalizers; a closed one may be marked as immutable.
func (h *history) addHeldVersions(name, index int, last *call) {
	h.Helper()
	content := last.content
	for step := range h.rand.IntN(heldVersions + 1) {
		res, state := last.ResVersion+2*int64(step+1), record.Released
		if h.rand.IntN(2) == 0 {
			content = res
		}
		if last.State == record.Closed && h.rand.IntN(2) == 0 {
			state = record.Evicted
		}
		r := h.record(name, index, res, content, state)
		for range copies {
			h.trailing = append(h.trailing, &call{Record: r, incarnation: last.incarnation, content: content, finalState: last.State})
		}
	}
}

func (h *history) model(name, uid string, content int64) *unstructured.Unstructured {
	o := dbtest.Model(name, uid, content)
	labels := o.GetLabels()
	labels[fmt.Sprintf("only-%d", content%4)] = "x" // set in some versions
	o.SetLabels(labels)
	return o
}

func (h *history) record(name, index int, res, content int64, state record.State) *record.Record {
	h.Helper()
	o := h.model(fmt.Sprintf("m%d", name), fmt.Sprintf("u-%d-%d", (name*7+index*5)%11, name*objectsPerName+index), content)
	o.SetResourceVersion(strconv.FormatInt(res, 10))
	if res != content {
		o.SetFinalizers(nil)
	}
	r, err := h.builder.Build(o, state)
	if err != nil {
		h.Fatal(err)
	}
	return r
}

// run makes all calls, many at the same time. None of them may fail.
func (h *history) run(db *sql.DB) {
	h.Helper()
	writers := map[int64]*writer.Writer{}
	for _, incarnation := range []int64{1, 2} {
		writers[incarnation] = newWriter(h, db, func(c *writer.Config) {
			c.Incarnation, c.MaxRows = incarnation, 1+h.rand.IntN(20)
		})
	}
	h.parallel(writers, h.calls)
	h.parallel(writers, h.trailing)
	h.calls = append(h.calls, h.trailing...)
}

func (h *history) parallel(writers map[int64]*writer.Writer, calls []*call) {
	h.Helper()
	next := make(chan *call)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for c := range next {
				var err error
				if c.outcome, err = writers[c.incarnation].Write(h.Context(), c.Record); err != nil {
					h.Errorf("%s at %v: %v", c.UID, c.version(), err)
				}
			}
		})
	}
	for _, c := range calls {
		next <- c
	}
	close(next)
	wg.Wait()
}

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

func written(c *call) bool { return c.outcome != writer.Stale && c.outcome != writer.Unchanged }

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
