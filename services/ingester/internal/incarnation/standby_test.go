package incarnation_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
)

// TestStandbyDetectsRestore checks a standby, whose leader may detect the restore first, or not at all.
func TestStandbyDetectsRestore(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*watched)
		want   string // in the error; empty means none
	}{
		"no change":                {func(*watched) {}, ""},
		"a later version":          {func(w *watched) { w.api.cluster.Store(200) }, ""},
		"an earlier version":       {func(w *watched) { w.api.cluster.Store(99) }, "resource version 99 after 100"},
		"another cluster":          {func(w *watched) { w.api.uid.Store("other-uid") }, "uid other-uid after cluster-uid"},
		"a bump by the leader":     {func(w *watched) { w.exec("UPDATE incarnation SET incarnation = 2") }, "incarnation 2 after 1"},
		"a database without it":    {func(w *watched) { w.exec("DELETE FROM incarnation") }, "incarnation 0 after 1"},
		"a bump of other clusters": {func(w *watched) { w.exec("INSERT INTO incarnation VALUES ('x', 7, NOW(6))") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t)
			if err := w.watch.CheckFollowed(t.Context()); err != nil {
				t.Fatal(err)
			}
			tc.change(w)
			err := w.watch.CheckFollowed(t.Context())
			if tc.want == "" && err != nil || tc.want != "" &&
				(!errors.Is(err, incarnation.ErrClusterRestored) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestStandbyRegisteredLater follows a cluster that its first leader registers meanwhile.
func TestStandbyRegisteredLater(t *testing.T) {
	w := watch(t)
	w.exec("DELETE FROM incarnation")
	for range 2 {
		if err := w.watch.CheckFollowed(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.exec("INSERT IGNORE INTO incarnation VALUES ('cluster-uid', 1, NOW(6))")
	}
}

func TestStandbyEndsAfterRestore(t *testing.T) {
	w := watch(t)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	standby := &incarnation.Watch{
		DB: w.db, Kinds: w.watch.Kinds, APIReader: w.api, Clock: clock, Log: w.watch.Log, Metrics: w.watch.Metrics,
	}
	leads, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- standby.Follow(t.Context(), leads) }()
	ended := func() (err error) {
		expect.Eventually(t, expect.Long, func() error {
			if clock.HasWaiters() {
				w.api.cluster.Store(99) // after a first check
				clock.Step(time.Minute)
			}
			select {
			case err = <-done:
				return nil
			default:
				return errors.New("still running")
			}
		})
		return err
	}
	if err := ended(); !errors.Is(err, incarnation.ErrClusterRestored) {
		t.Errorf("the standby ended with %v", err)
	}
	close(leads)
	w.api.cluster.Store(100)
	go func() { done <- standby.Follow(t.Context(), leads) }()
	if err := ended(); err != nil {
		t.Errorf("the leader ended with %v", err)
	}
}

func (w *watched) exec(statement string) {
	w.Helper()
	if _, err := w.db.ExecContext(w.Context(), statement); err != nil {
		w.Fatal(err)
	}
}
