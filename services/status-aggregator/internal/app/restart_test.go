package app

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func TestRestartChangesNoCondition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.start()
	o, u, flips := f.available()
	version, history := u.GetResourceVersion(), f.history()

	r.stop()
	since := time.Now()
	second := f.start()
	f.leading(since)
	expect.Never(t, 2*time.Second, func() error {
		f.read(u)
		if got := f.history(); u.GetResourceVersion() != version || !cmp.Equal(history, got) {
			return fmt.Errorf("resourceVersion %s to %s, history %q", version, u.GetResourceVersion(), got)
		}
		return nil
	})
	if n := value(t, second, "flotilla_status_lease_held"); n != 1 {
		t.Errorf("lease held: %v", n)
	}
	flips.want(t, conditions.TypeAvailable, "True")
	o.observe(u, 1)
	flips.want(t, conditions.TypeAvailable, "True", "False")
}

// A crash after the entry was written and before its events were published delivers each event once.
func TestCrashBetweenEntryAndEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	u := f.superset("main")
	o.observe(u, 0)
	f.condition(u, conditions.TypeAvailable, "False", conditions.ReasonInsufficientReplicas)
	before := f.history()

	reject := func(m bus.Message) error { return fmt.Errorf("publish %q: %w", m.ID, errors.New("crashed")) }
	r.bus.reject.Store(&reject)
	o.observe(u, 2)
	expect.Eventually(t, expect.Long, func() error {
		if e := f.entry(contract.Superset, u); e.Conditions[0].Status != "True" {
			return fmt.Errorf("entry %+v", e.Conditions[0])
		}
		return nil
	})
	if diff := cmp.Diff(before, f.history()); diff != "" {
		t.Fatalf("published despite the crash:\n%s", diff)
	}
	r.stop()
	f.start()
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	f.wantHistory(append(before, "main available Available=True", "main settled Progressing=False",
		"main upgradable Upgradable=True")...)
}

func TestObjectDeletedDuringDowntime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	u := f.superset("main")
	o.observe(u, 2)
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	r.stop()
	if err := f.client.Delete(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.wantHistory("main snapshot", "main deleted gap")
}
