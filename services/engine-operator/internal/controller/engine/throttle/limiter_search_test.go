package throttle

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mutants"
)

// steps lists the possible next states.
func (f fleet) steps(t *testing.T, limit int, add func(step string, n fleet)) (violated string) {
	t.Helper()
	for i := range fleetSize {
		set := func(step string, state int8) {
			n := f
			n.state[i] = state
			n.external[i] = n.external[i] && state >= rollingOut
			add(step, n)
		}
		switch f.state[i] {
		case current:
			set("the class is edited", outdated)
			set("the engine is edited", rollingOut)
		case outdated:
			set("the class is edited back", current)
			deleted, l := f, f.limiter(limit)
			l.Release(uid(i))
			deleted.state[i] = current
			add("the engine is deleted and made again", deleted.withLimiterState(l))
			next, acquired, violated := f.acquire(t, limit, i)
			if violated != "" {
				return violated
			}
			if !acquired {
				add("the engine waits", next)
				continue
			}
			add("the engine rolls out", next.withRollout(i))
			l = next.limiter(limit)
			l.Release(uid(i))
			failed := next.withLimiterState(l)
			if failed.slot[i] {
				return "UnusedSlotsReturn"
			}
			add("the status is not written", failed)
		case rollingOut:
			set("the rollout ends", current)
			set("the rollout hangs", stalled)
		case stalled:
			set("the rollout ends", current)
		}
		if f.cached[i] != (f.state[i] >= rollingOut) || (f.slot[i] && f.state[i] != outdated) {
			add("the cache catches up", f.withCachedEngine(i))
		}
	}
	n := f
	for i := range n.waiting {
		n.waiting[i] = min(n.waiting[i]*waitExpired, waitExpired)
	}
	add("time passes", n)
	return ""
}

// refreshed returns the state after some time, with a current cache.
func (f fleet) refreshed() fleet {
	for i := range fleetSize {
		f.waiting[i] = min(f.waiting[i]*waitExpired, waitExpired)
		f = f.withCachedEngine(i)
	}
	return f
}

// runToCompletion lets all engines of a refreshed fleet try in a given order, repeatedly, until all are up to date.
func (f fleet) runToCompletion(t *testing.T, limit int, order [fleetSize]int) (violated string) {
	t.Helper()
	for range 3 * fleetSize {
		differs := false
		for i := range f.waiting { // engines that no longer try
			f.waiting[i] = min(f.waiting[i]*waitExpired, waitExpired)
		}
		for _, i := range order {
			if f = f.withCachedEngine(i); f.state[i] != outdated {
				continue
			}
			differs = true
			next, acquired, violated := f.acquire(t, limit, i)
			if violated != "" {
				return violated
			}
			if f = next; acquired {
				f = f.withRollout(i)
			}
		}
		if !differs {
			return ""
		}
		for i := range f.state {
			if f.state[i] == rollingOut {
				f.state[i] = current
			}
		}
	}
	return "EveryoneGetsASlot"
}

func TestLimiterSearch(t *testing.T) {
	orders := [][fleetSize]int{{0, 1, 2}, {2, 1, 0}}
	limits := []int{1}
	if os.Getenv("FLOTILLA_ENGINE_SEARCH") == "full" {
		limits = []int{1, 2}
	}
	for _, limit := range limits {
		type arrival struct {
			from fleet
			step string
		}
		seen, queue, converged := map[fleet]arrival{{}: {}}, []fleet{{}}, map[fleet]bool{}
		fail := func(f fleet, violated string) {
			var trace []string
			for f != (fleet{}) {
				trace = append([]string{fmt.Sprintf("%s: %+v", seen[f].step, f)}, trace...)
				f = seen[f].from
			}
			t.Fatalf("BROKEN %s: %s\nlimit %d, by\n%s", violated, limiterInvariants[violated], limit, strings.Join(trace, "\n"))
		}
		for len(queue) > 0 {
			f := queue[0]
			queue = queue[1:]
			violated := f.steps(t, limit, func(step string, n fleet) {
				if _, ok := seen[n]; !ok {
					seen[n] = arrival{f, step}
					queue = append(queue, n)
				}
			})
			for _, order := range orders {
				if start := f.refreshed(); violated == "" && !converged[start] {
					violated = start.runToCompletion(t, limit, order)
					converged[start] = order == orders[len(orders)-1]
				}
			}
			if violated != "" {
				fail(f, violated)
			}
		}
		t.Logf("SEARCH limit=%d states=%d", limit, len(seen))
	}
}

// Every mutant applies to the source; `make verify-engine` also runs each.
func TestLimiterMutants(t *testing.T) {
	const least = 6
	for _, m := range mutants.Read(t, "testdata/mutants.txt", least) {
		t.Run(m.Title(), func(t *testing.T) {
			if limiterInvariants[m.By] == "" {
				t.Errorf("there is no invariant %q", m.By)
			}
			if os.Getenv("FLOTILLA_ENGINE_SEARCH") != "full" {
				return
			}
			output, err := m.Test(t, "TestLimiterSearch")
			if err == nil || !strings.Contains(output, "BROKEN "+m.By+":") {
				t.Fatalf("the search does not break %s: %v\n%s", m.By, err, output)
			}
			t.Logf("MUTANT %s: caught by %s", m.Name, m.By)
		})
	}
}
