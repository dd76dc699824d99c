package writer_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

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
	// confirmed is the state of the second call for an object whose row is closed, after a read from the API server.
	confirmed record.State
	outcome   writer.Outcome
}

func (c *call) version() version { return version{c.incarnation, c.ResVersion} }

// version compares like the version of package decision.
type version struct{ incarnation, res int64 }

func (v version) less(o version) bool {
	return v.incarnation < o.incarnation || v.incarnation == o.incarnation && v.res < o.res
}

// TestRandomHistories has two ingesters write the same objects in any order: the cluster of the
// second one was restored from a backup, so its versions are lower and supersede the others. Their clocks differ.
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
			state = record.State(h.rand.IntN(int(record.Confirmed) + 1))
		case step >= closeFrom:
			state = record.Closed
		case step >= evictFrom:
			state = record.Evicted
		}
		incarnation := int64(step/steps) + 1
		res := int64(2*(index*100+step%steps)) + incarnation - 1
		r := h.record(name, index, res, res, state)
		for range copies {
			c := &call{Record: r, incarnation: incarnation, content: res, finalState: state, confirmed: record.Closed}
			if h.unordered && h.rand.IntN(2) == 0 {
				c.confirmed = record.Confirmed
			}
			h.calls = append(h.calls, c)
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
			h.trailing = append(h.trailing, &call{Record: r, incarnation: last.incarnation, content: content, finalState: last.State, confirmed: record.Closed})
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
			c.Clock = skewed{clock.RealClock{}, time.Duration(incarnation) * 3 * time.Second}
		})
	}
	h.parallel(writers, h.calls)
	h.parallel(writers, h.trailing)
	h.calls = append(h.calls, h.trailing...)
}

// skewed is a clock that is ahead.
type skewed struct {
	clock.Clock
	by time.Duration
}

func (s skewed) Now() time.Time                  { return s.Clock.Now().Add(s.by) }
func (s skewed) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

func (h *history) parallel(writers map[int64]*writer.Writer, calls []*call) {
	h.Helper()
	next := make(chan *call)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for c := range next {
				var err error
				if c.outcome, err = writers[c.incarnation].Write(h.Context(), c.Record); err == nil && c.outcome == writer.Unconfirmed {
					r := *c.Record
					r.State = c.confirmed
					c.outcome, err = writers[c.incarnation].Write(h.Context(), &r)
				}
				if err != nil {
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
