package liveness

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

const (
	operator   = "superset-operator"
	settle     = 5 * time.Second
	validity   = 30 * time.Second
	inactivity = 5 * time.Minute
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// step is an event at a given second.
type step struct {
	at     int
	action string // connect, disconnect, see, hold, confirm
}

func runSteps(t *testing.T, steps []step) *Tracker {
	t.Helper()
	tracker := NewTracker(settle, inactivity, operator)
	for _, s := range steps {
		switch s.action {
		case "connect":
			tracker.SetConnected(at(s.at))
		case "disconnect":
			tracker.SetDisconnected()
		case "see":
			tracker.RecordSeen(operator, 1, validity, at(s.at))
		case "hold":
			tracker.RecordPending(operator, at(s.at))
		case "confirm":
			tracker.Confirm(operator, at(s.at))
		default:
			t.Fatalf("unknown step %q", s.action)
		}
	}
	return tracker
}

func TestTrackerState(t *testing.T) {
	cases := map[string]struct {
		steps []step
		at    int
		want  State
		until int // second of the next possible change; -1: never
	}{
		"before the connection":                        {nil, 100, Disconnected, -1},
		"connected, not seen yet":                      {[]step{{0, "connect"}}, 10, Unconfirmed, 30},
		"missing heartbeats alone are not stale":       {[]step{{0, "connect"}}, 300, Unconfirmed, 30},
		"missing heartbeats confirmed by the stream":   {[]step{{0, "connect"}, {30, "confirm"}}, 31, Stale, -1},
		"a confirmation that is too early":             {[]step{{0, "connect"}, {20, "see"}, {31, "confirm"}}, 31, Alive, 50},
		"just seen: messages may be pending":           {[]step{{0, "connect"}, {3, "see"}}, 4, Unconfirmed, 8},
		"seen and settled":                             {[]step{{0, "connect"}, {3, "see"}, {13, "see"}}, 14, Alive, 43},
		"seen with pending messages":                   {[]step{{0, "connect"}, {3, "see"}, {3, "hold"}}, 9, Unconfirmed, 18},
		"pending messages were published":              {[]step{{0, "connect"}, {3, "see"}, {3, "hold"}, {13, "see"}}, 18, Alive, 43},
		"messages stay pending":                        {[]step{{0, "connect"}, {3, "see"}, {3, "hold"}, {13, "see"}, {13, "hold"}, {23, "see"}, {23, "hold"}}, 33, Alive, 53},
		"messages pending later change nothing":        {[]step{{0, "connect"}, {3, "see"}, {13, "see"}, {13, "hold"}}, 14, Alive, 43},
		"seen again after stale":                       {[]step{{0, "connect"}, {30, "confirm"}, {60, "see"}}, 61, Unconfirmed, 65},
		"disconnected from the bus":                    {[]step{{0, "connect"}, {3, "see"}, {20, "disconnect"}}, 300, Disconnected, -1},
		"reconnected to the bus, not seen yet":         {[]step{{0, "connect"}, {3, "see"}, {20, "disconnect"}, {3600, "connect"}}, 3601, Unconfirmed, 3630},
		"reconnected to the bus and seen":              {[]step{{0, "connect"}, {20, "disconnect"}, {3600, "connect"}, {3602, "see"}}, 3608, Alive, 3632},
		"stale before an outage, unconfirmed after it": {[]step{{0, "connect"}, {30, "confirm"}, {40, "disconnect"}, {50, "connect"}}, 51, Unconfirmed, 80},
		"a second connection changes nothing":          {[]step{{0, "connect"}, {3, "see"}, {10, "connect"}}, 14, Alive, 33},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, until := runSteps(t, tc.steps).State(operator, at(tc.at))
			want := time.Time{}
			if tc.until >= 0 {
				want = at(tc.until)
			}
			if got != tc.want || !until.Equal(want) {
				t.Errorf("got %s until %v, want %s until %v", got, until, tc.want, want)
			}
		})
	}
}

func TestEpochExpired(t *testing.T) {
	tracker := runSteps(t, []step{{0, "connect"}})
	tracker.RecordSeen(operator, 5, validity, at(10))
	tracker.RecordSeen(operator, 3, validity, at(60))
	cases := map[string]struct {
		epoch int64
		at    int
		want  bool
		until int
	}{
		"within its validity":                {5, 39, false, 40},
		"past its validity":                  {5, 40, true, 40},
		"a lower epoch does not extend it":   {5, 70, true, 40},
		"a greater epoch extends it":         {2, 70, false, 90},
		"never seen, counted from the start": {9, 29, false, 30},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, until := tracker.EpochExpired(operator, tc.epoch, validity, at(tc.at))
			if got != tc.want || !until.Equal(at(tc.until)) {
				t.Errorf("got %v until %v", got, until)
			}
		})
	}
	tracker.SetDisconnected()
	if got, _ := tracker.EpochExpired(operator, 5, validity, at(900)); got {
		t.Error("an epoch expired while disconnected")
	}
}

// Shards with the epochs 1 and 2 are alive, and one with epoch 3 until second 50. One with epoch 9 was last seen before
// the connection began.
func TestInactiveEpochs(t *testing.T) {
	tracker := runSteps(t, []step{{0, "connect"}})
	for second := 0; second <= 700; second += 10 {
		for epoch := range int64(2) {
			tracker.RecordSeen(operator, epoch+1, validity, at(second))
		}
		if second <= 50 {
			tracker.RecordSeen(operator, 3, validity, at(second))
		}
		now := at(second)
		want := map[int64]bool{1: false, 2: false, 3: second >= 350, 9: second >= 300}
		got := map[int64]bool{}
		for epoch := range want {
			got[epoch] = tracker.EpochInactive(operator, epoch, now)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("inactive epochs at %d s (-want +got):\n%s", second, diff)
		}
		wantCount, wantNext := 0, at(300)
		switch {
		case second >= 350:
			wantCount, wantNext = 2, now.Add(inactivity)
		case second >= 300:
			wantCount, wantNext = 1, at(350)
		}
		if n, next := tracker.InactiveEpochs(operator, now); n != wantCount || !next.Equal(wantNext) {
			t.Errorf("at %d s: %d inactive, next at %s, want %d and %s", second, n, next, wantCount, wantNext)
		}
	}
	tracker.SetDisconnected()
	if n, _ := tracker.InactiveEpochs(operator, at(1000)); n != 0 || tracker.EpochInactive(operator, 3, at(1000)) {
		t.Errorf("%d epochs are inactive while disconnected", n)
	}
}

// The watchdog reports an inactive epoch of an observer that stays alive, once.
func TestWatchdogReportsInactiveEpoch(t *testing.T) {
	tracker := runSteps(t, []step{{0, "connect"}})
	var reported []int
	second := 0
	watchdog := NewWatchdog(tracker, nil, clocktesting.NewFakeClock(start), func(string, State) { reported = append(reported, second) })
	for ; second <= 700; second += 10 {
		tracker.RecordSeen(operator, 1, validity, at(second))
		if second <= 50 {
			tracker.RecordSeen(operator, 2, validity, at(second))
		}
		watchdog.Step(t.Context(), at(second))
	}
	if diff := cmp.Diff([]int{0, 10, 300, 350}, reported); diff != "" { // unconfirmed, alive, unseen epochs, epoch 2
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

func TestEpochsAreBounded(t *testing.T) {
	tracker := runSteps(t, []step{{0, "connect"}})
	for e := range int64(100) {
		tracker.RecordSeen(operator, e, validity, at(int(e)))
	}
	if n := len(tracker.observers[operator].epochs); n > maxEpochs {
		t.Errorf("%d epochs remembered", n)
	}
	tracker.RecordSeen(operator, 36, validity, at(200)) // the lowest one that is remembered, of a shard that is alive
	tracker.RecordSeen(operator, 100, validity, at(201))
	if _, kept := tracker.observers[operator].epochs[36]; !kept {
		t.Error("the epoch that was seen last but one is forgotten")
	}
	tracker.RecordSeen("an unknown observer", 1, validity, at(1))
	if diff := cmp.Diff([]string{operator}, tracker.Observers()); diff != "" {
		t.Error(diff)
	}
}

func TestWatchdogChecksStreamBeforeStale(t *testing.T) {
	probes := []struct {
		missed bool
		err    error
	}{{err: errors.New("no responders")}, {missed: true}, {missed: false}}
	calls := 0
	var published []string
	tracker := runSteps(t, []step{{0, "connect"}, {0, "see"}})
	watchdog := NewWatchdog(tracker, func(context.Context, string) (bool, error) {
		a := probes[calls]
		calls++
		return a.missed, a.err
	}, clocktesting.NewFakeClock(start), func(_ string, v State) { published = append(published, v.String()) })

	next := []time.Time{
		watchdog.Step(t.Context(), at(0)),  // unconfirmed until it has settled
		watchdog.Step(t.Context(), at(5)),  // alive until 30
		watchdog.Step(t.Context(), at(30)), // the probe failed: retry in a second
		watchdog.Step(t.Context(), at(31)), // the stream has something newer
		watchdog.Step(t.Context(), at(61)), // the probe found nothing: stale
	}
	want := []time.Time{at(5), at(30), at(31), at(61), {}}
	if diff := cmp.Diff(want, next); diff != "" {
		t.Errorf("next checks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Unconfirmed", "Alive", "Stale"}, published); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if calls != len(probes) {
		t.Errorf("queried %d times, want %d", calls, len(probes))
	}
}

// A failing probe of a stale observer proves nothing, and if it persists it
// reports that this process is partitioned.
func TestWatchdogIsProbeFailingWithoutStream(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	tracker := runSteps(t, []step{{0, "connect"}, {0, "see"}})
	var failure error
	watchdog := NewWatchdog(tracker, func(context.Context, string) (bool, error) { return false, failure }, clock,
		func(_ string, v State) {
			if v == Stale && failure != nil {
				t.Error("stale although the stream could not be read")
			}
		})
	const timeout = 10 * time.Second
	failure = errors.New("no responders")
	for second := 20; second <= 45; second++ {
		clock.SetTime(at(second))
		watchdog.Step(t.Context(), clock.Now())
		if got, want := watchdog.ProbeFailing(timeout), second >= 40; got != want {
			t.Errorf("at %d s: blind is %v, want %v", second, got, want)
		}
	}
	failure = nil
	watchdog.Step(t.Context(), clock.Now())
	if watchdog.ProbeFailing(timeout) {
		t.Error("probe failing although the stream responded")
	}
}

func TestWatchdogReportsStaleAtDeadline(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	tracker := runSteps(t, []step{{0, "connect"}, {0, "see"}})
	states := make(chan State, 10)
	watchdog := NewWatchdog(tracker, func(context.Context, string) (bool, error) { return false, nil }, clock,
		func(_ string, v State) { states <- v })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- watchdog.Start(ctx) }()

	for _, want := range []State{Unconfirmed, Alive, Stale} {
		for got := range nextState(t, clock, states) {
			if got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	}
	if elapsed := clock.Since(start); elapsed < validity || elapsed > validity+time.Second {
		t.Errorf("stale after %s, want %s", elapsed, validity)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// nextState advances the clock, whenever the watchdog waits for it, until a state changes.
func nextState(t *testing.T, clock *clocktesting.FakeClock, states <-chan State) func(func(State) bool) {
	t.Helper()
	return func(yield func(State) bool) {
		for {
			select {
			case v := <-states:
				yield(v)
				return
			case <-t.Context().Done():
				t.Fatal("the watchdog reported no change")
			default:
				if clock.HasWaiters() {
					clock.Step(500 * time.Millisecond)
				}
			}
		}
	}
}
