package ingest

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

// reconnecting is a bus that reconnects directly after the first check of its connection.
type reconnecting struct {
	Bus
	connected   bool
	onReconnect func()
}

func (r *reconnecting) OnReconnect(f func()) { r.onReconnect = f }

func (r *reconnecting) Connected() bool {
	was := r.connected
	if !was {
		r.connected = true
		r.onReconnect()
	}
	return was
}

const observer = "superset-operator"

func newIngest(t *testing.T, tracker *liveness.Tracker) *Ingest {
	t.Helper()
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Bus: &reconnecting{}, Model: model.NewStore(), Liveness: tracker, Clock: clocktesting.NewFakeClock(sent), Metrics: m,
		OnRestart: func() {}, OnCaughtUp: func() {},
	})
}

func TestReconnectDuringCheckOfLink(t *testing.T) {
	tracker := liveness.NewTracker(0, liveness.DefaultInactivity, observer)
	i := newIngest(t, tracker)
	i.complete = [len(streams)]bool{true, true}
	i.checkLink()
	if state, _ := tracker.State(observer, sent); state != liveness.Unconfirmed {
		t.Errorf("state %s after the reconnect, want %s", state, liveness.Unconfirmed)
	}
}

// The last heartbeat of a stopped observer would count as one that was missed, so the observer as alive.
func TestOnlyRecreatedHeartbeatsAreForgotten(t *testing.T) {
	for n, want := range []uint64{7, 0} {
		i := newIngest(t, liveness.NewTracker(0, liveness.DefaultInactivity, observer))
		i.lastHeartbeats[observer] = 7
		i.restart(t.Context(), n, true)
		if got := i.lastHeartbeats[observer]; got != want {
			t.Errorf("after %s was re-created: last heartbeat %d, want %d", streams[n], got, want)
		}
	}
}

// A stream that is missing is named once, not after each attempt to read it.
func TestInterruptionIsLoggedOnce(t *testing.T) {
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	i := newIngest(t, liveness.NewTracker(0, liveness.DefaultInactivity, observer))
	i.complete = [len(streams)]bool{true, true}
	for range 2 {
		i.interrupt(ctx, 0)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], streams[0]) {
		t.Errorf("logged %q, want one line that names %s", lines, streams[0])
	}
}
