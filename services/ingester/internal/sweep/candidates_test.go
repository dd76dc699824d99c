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
	queued := s.take()
	if len(queued["Model"]) != 1 || len(queued["Project"]) != maxCandidates-1 {
		t.Errorf("%d and %d wait", len(queued["Model"]), len(queued["Project"]))
	}
	if !s.add("Model", types.NamespacedName{Name: "b"}) {
		t.Error("no room after all were taken")
	}
}

func TestCandidateRowIsClosed(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			e := newEnvOn(t, mysqltest.DSNOf(t, vendor))
			models := e.stored("Model", "a", "b", "c", "evicted")
			if err := e.store.Evict(t.Context(), models[3]); err != nil {
				t.Fatal(err)
			}
			e.remove(models[0], models[3])
			s := e.run() // without an interval: sweeps are disabled
			for _, u := range models {
				if u.GetName() != "c" {
					s.AddCandidate("Model", u.GetNamespace(), u.GetName())
				}
			}
			expect.Eventually(t, expect.Long, func() error {
				if diff := cmp.Diff([]string{"model a"}, e.deletions()); diff != "" {
					return fmt.Errorf("deletions (-want +got):\n%s", diff)
				}
				return nil
			})
			e.liveRows("model", "b", "c", "evicted")
		})
	}
}

func TestCandidateWithClosedRowMakesNoRequest(t *testing.T) {
	e := newEnv(t)
	models := e.stored("Model", "a", "b")
	if err := e.store.Finish(t.Context(), models[0]); err != nil {
		t.Fatal(err)
	}
	e.remove(models...)
	s := e.sweeper()
	s.AddCandidate("Model", e.namespace, "a")
	if err := s.checkQueued(t.Context()); err != nil {
		t.Error(err)
	}
	if n := e.live.requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
	e.liveRows("model", "b") // not a candidate
}

func TestCandidatesAreLeftUnchanged(t *testing.T) {
	for name, change := range map[string]func(*env){
		"in other namespaces":     func(e *env) { e.cfg.Namespaces = []string{"another"} },
		"of another cluster":      func(e *env) { e.exec("UPDATE incarnation SET cluster_uid = 'another'") },
		"in a dry run":            func(e *env) { e.cfg.DryRun = true },
		"without a database":      func(e *env) { e.exec("DROP TABLE incarnation") },
		"when they are very many": func(e *env) { e.exec("UPDATE model SET name = 'a'") },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.remove(e.stored("Model", "a")...)
			if name == "when they are very many" {
				e.addOrphanRows(closeBatchSize)
			}
			change(e)
			s := e.sweeper()
			s.AddCandidate("Model", e.namespace, "a")
			if err := s.checkQueued(t.Context()); (err != nil) != (name == "of another cluster" || name == "without a database") {
				t.Errorf("error %v", err)
			}
			if n := len(e.deletions()); n != 0 {
				t.Errorf("%d rows were closed", n)
			}
		})
	}
}

// The metric counts the rows, not the candidates whose rows are closed already.
func TestDroppedCandidatesAreCounted(t *testing.T) {
	e := newEnv(t)
	e.remove(e.stored("Model", "a", "closed")...)
	e.exec("UPDATE model SET delete_time = NOW(6) WHERE name = 'closed'")
	e.addOrphanRows(closeBatchSize)
	e.exec("UPDATE model SET name = 'a' WHERE name <> 'closed'")
	s := e.sweeper()
	s.AddCandidate("Model", e.namespace, "a")
	s.AddCandidate("Model", e.namespace, "closed")
	if err := s.checkQueued(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := testutil.ToFloat64(s.metrics.dropped.WithLabelValues("Model")); got != closeBatchSize+1 {
		t.Errorf("%v rows were left, want %d", got, closeBatchSize+1)
	}
}

// Objects are deleted while MySQL is unavailable.
func TestCandidatesWaitWhileMySQLIsUnavailable(t *testing.T) {
	e := newEnv(t)
	e.remove(e.stored("Model", "a", "b")[0])
	e.exec("RENAME TABLE model TO elsewhere")
	s := e.sweeper()
	s.AddCandidate("Model", e.namespace, "a")
	if err := s.checkQueued(t.Context()); err == nil {
		t.Error("no error")
	}
	e.exec("RENAME TABLE elsewhere TO model")
	if err := s.checkQueued(t.Context()); err != nil {
		t.Error(err)
	}
	e.liveRows("model", "b")
}

// TestSweepClosesNothingWhileDatabaseIsBehind sweeps and checks a candidate whose rows may be the only copies.
func TestSweepClosesNothingWhileDatabaseIsBehind(t *testing.T) {
	e := newEnv(t)
	e.remove(e.stored("Model", "a", "b")[0])
	older := errors.New("older")
	e.cfg.Checkpoint = func(context.Context) error { return older }
	e.expectAbort("Model", behind)
	s := e.sweeper()
	s.AddCandidate("Model", e.namespace, "a")
	if err := s.checkQueued(t.Context()); !errors.Is(err, older) {
		t.Errorf("the hint: %v", err)
	}
	e.liveRows("model", "a", "b")
	older = nil
	e.mustSweep()
	e.liveRows("model", "b")
}
