package ingest

import (
	"testing"

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

func TestReconnectDuringCheckOfLink(t *testing.T) {
	const observer = "superset-operator"
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	tracker := liveness.NewTracker(0, liveness.DefaultInactivity, observer)
	i := New(Config{
		Bus: &reconnecting{}, Model: model.NewStore(), Liveness: tracker, Clock: clocktesting.NewFakeClock(sent), Metrics: m,
		OnRestart: func() {}, OnCaughtUp: func() {},
	})
	i.complete = [len(streams)]bool{true, true}
	i.checkLink()
	if state, _ := tracker.State(observer, sent); state != liveness.Unconfirmed {
		t.Errorf("state %s after the reconnect, want %s", state, liveness.Unconfirmed)
	}
}
