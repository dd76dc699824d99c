package throttle

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mutants"
)

// steps lists the possible next states.
func (f fleet) steps(t *testing.T, limit int, add func(what string, n fleet)) (broken string) {
	t.Helper()
	for i := range fleetSize {
		set := func(what string, state int8) {
			n := f
			n.state[i] = state
			n.external[i] = n.external[i] && state >= moving
			add(what, n)
		}
		switch f.state[i] {
		case current:
			set("the class is edited", differing)
			set("the engine is edited", moving)
		case differing:
			set("the class is edited back", current)
			deleted, l := f, f.limiter(limit)
			l.Release(uid(i))
			deleted.state[i] = current
			add("the engine is deleted and made again", deleted.remembers(l))
			next, given, broken := f.try(t, limit, i)
			if broken != "" {
				return broken
			}
			if !given {
				add("the engine waits", next)
				continue
			}
			add("the engine rolls out", next.begun(i))
			l = next.limiter(limit)
			l.Release(uid(i))
			failed := next.remembers(l)
			if failed.slot[i] {
				return "UnusedSlotsReturn"
			}
			add("the status is not written", failed)
		case moving:
			set("the rollout ends", current)
			set("the rollout hangs", hanging)
		case hanging:
			set("the rollout ends", current)
		}
		if f.shown[i] != (f.state[i] >= moving) || (f.slot[i] && f.state[i] != differing) {
			add("the cache catches up", f.showing(i))
		}
	}
	n := f
	for i := range n.waiting {
		n.waiting[i] = min(n.waiting[i]*lapsed, lapsed)
	}
	add("time passes", n)
	return ""
}

// calm returns the state after some time, with a current cache.
func (f fleet) calm() fleet {
	for i := range fleetSize {
		f.waiting[i] = min(f.waiting[i]*lapsed, lapsed)
		f = f.showing(i)
	}
	return f
}

// serves lets all engines of a calm fleet try in a given order, repeatedly, until all are up to date.
func (f fleet) serves(t *testing.T, limit int, order [fleetSize]int) (broken string) {
	t.Helper()
	for range 3 * fleetSize {
		differs := false
		for i := range f.waiting { // engines that no longer try
			f.waiting[i] = min(f.waiting[i]*lapsed, lapsed)
		}
		for _, i := range order {
			if f = f.showing(i); f.state[i] != differing {
				continue
			}
			differs = true
			next, given, broken := f.try(t, limit, i)
			if broken != "" {
				return broken
			}
			if f = next; given {
				f = f.begun(i)
			}
		}
		if !differs {
			return ""
		}
		for i := range f.state {
			if f.state[i] == moving {
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
			what string
		}
		seen, queue, rested := map[fleet]arrival{{}: {}}, []fleet{{}}, map[fleet]bool{}
		fail := func(f fleet, broken string) {
			var way []string
			for f != (fleet{}) {
				way = append([]string{fmt.Sprintf("%s: %+v", seen[f].what, f)}, way...)
				f = seen[f].from
			}
			t.Fatalf("BROKEN %s: %s\nlimit %d, by\n%s", broken, limiterInvariants[broken], limit, strings.Join(way, "\n"))
		}
		for len(queue) > 0 {
			f := queue[0]
			queue = queue[1:]
			broken := f.steps(t, limit, func(what string, n fleet) {
				if _, ok := seen[n]; !ok {
					seen[n] = arrival{f, what}
					queue = append(queue, n)
				}
			})
			for _, order := range orders {
				if calm := f.calm(); broken == "" && !rested[calm] {
					broken = calm.serves(t, limit, order)
					rested[calm] = order == orders[len(orders)-1]
				}
			}
			if broken != "" {
				fail(f, broken)
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
