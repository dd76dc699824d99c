package sweep

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
)

func TestCandidatesAreUniqueAndBounded(t *testing.T) {
	s := newCandidates()
	for range 3 {
		if !s.add("Model", types.NamespacedName{Name: "a"}) {
			t.Fatal("no room")
		}
	}
	for i := range maxCandidates - 1 {
		s.add("Project", types.NamespacedName{Name: fmt.Sprint(i)})
	}
	if s.add("Model", types.NamespacedName{Name: "b"}) {
		t.Error("a full set accepts another candidate")
	}
	if !s.add("Model", types.NamespacedName{Name: "a"}) {
		t.Error("a full set rejects a candidate that it contains")
	}
	taken := s.take()
	if len(taken["Model"]) != 1 || len(taken["Project"]) != maxCandidates-1 {
		t.Errorf("%d and %d wait", len(taken["Model"]), len(taken["Project"]))
	}
	if !s.add("Model", types.NamespacedName{Name: "b"}) {
		t.Error("no room after all were taken")
	}
}

func TestCandidateRowIsClosed(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			w := newWorldOn(t, mysqltest.DSNOf(t, vendor))
			models := w.stored("Model", "a", "b", "c", "evicted")
			if err := w.store.Evict(t.Context(), models[3]); err != nil {
				t.Fatal(err)
			}
			w.remove(models[0], models[3])
			s := w.run() // without an interval: sweeps are disabled
			for _, u := range models {
				if u.GetName() != "c" {
					s.AddCandidate("Model", u.GetNamespace(), u.GetName())
				}
			}
			expect.Eventually(t, expect.Long, func() error {
				if diff := cmp.Diff([]string{"model a"}, w.deletions()); diff != "" {
					return fmt.Errorf("deletions (-want +got):\n%s", diff)
				}
				return nil
			})
			w.liveRows("model", "b", "c", "evicted")
		})
	}
}

func TestCandidateWithClosedRowMakesNoRequest(t *testing.T) {
	w := newWorld(t)
	models := w.stored("Model", "a", "b")
	if err := w.store.Finish(t.Context(), models[0]); err != nil {
		t.Fatal(err)
	}
	w.remove(models...)
	s := w.sweeper()
	s.AddCandidate("Model", w.namespace, "a")
	if err := s.examine(t.Context()); err != nil {
		t.Error(err)
	}
	if n := w.live.requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
	w.liveRows("model", "b") // not a candidate
}

func TestCandidatesAreLeftUnchanged(t *testing.T) {
	for name, change := range map[string]func(*world){
		"in other namespaces":     func(w *world) { w.cfg.Namespaces = []string{"another"} },
		"of another cluster":      func(w *world) { w.exec("UPDATE incarnation SET cluster_uid = 'another'") },
		"in a dry run":            func(w *world) { w.cfg.DryRun = true },
		"without a database":      func(w *world) { w.exec("DROP TABLE incarnation") },
		"when they are very many": func(w *world) { w.exec("UPDATE model SET name = 'a'") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.remove(w.stored("Model", "a")...)
			if name == "when they are very many" {
				w.invented(closeBatchSize)
			}
			change(w)
			s := w.sweeper()
			s.AddCandidate("Model", w.namespace, "a")
			if err := s.examine(t.Context()); (err != nil) != (name == "of another cluster" || name == "without a database") {
				t.Errorf("error %v", err)
			}
			if n := len(w.deletions()); n != 0 {
				t.Errorf("%d rows were closed", n)
			}
		})
	}
}

// The metric counts the rows, not the candidates whose rows are closed already.
func TestDroppedCandidatesAreCounted(t *testing.T) {
	w := newWorld(t)
	w.remove(w.stored("Model", "a", "closed")...)
	w.exec("UPDATE model SET delete_time = NOW(6) WHERE name = 'closed'")
	w.invented(closeBatchSize)
	w.exec("UPDATE model SET name = 'a' WHERE name <> 'closed'")
	s := w.sweeper()
	s.AddCandidate("Model", w.namespace, "a")
	s.AddCandidate("Model", w.namespace, "closed")
	if err := s.examine(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := testutil.ToFloat64(s.metrics.dropped.WithLabelValues("Model")); got != closeBatchSize+1 {
		t.Errorf("%v rows were left, want %d", got, closeBatchSize+1)
	}
}

// Objects are deleted while MySQL is unavailable.
func TestCandidatesWaitWhileMySQLIsUnavailable(t *testing.T) {
	w := newWorld(t)
	w.remove(w.stored("Model", "a", "b")[0])
	w.exec("RENAME TABLE model TO elsewhere")
	s := w.sweeper()
	s.AddCandidate("Model", w.namespace, "a")
	if err := s.examine(t.Context()); err == nil {
		t.Error("no error")
	}
	w.exec("RENAME TABLE elsewhere TO model")
	if err := s.examine(t.Context()); err != nil {
		t.Error(err)
	}
	w.liveRows("model", "b")
}

// TestSweepClosesNothingWhileDatabaseIsBehind sweeps and checks a candidate whose rows may be the only copies.
func TestSweepClosesNothingWhileDatabaseIsBehind(t *testing.T) {
	w := newWorld(t)
	w.remove(w.stored("Model", "a", "b")[0])
	older := errors.New("older")
	w.cfg.Checkpoint = func(context.Context) error { return older }
	w.aborts("Model", behind)
	s := w.sweeper()
	s.AddCandidate("Model", w.namespace, "a")
	if err := s.examine(t.Context()); !errors.Is(err, older) {
		t.Errorf("the hint: %v", err)
	}
	w.liveRows("model", "a", "b")
	older = nil
	w.swept()
	w.liveRows("model", "b")
}
