package bus_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

const waitTimeout = 2 * time.Minute

// eventually polls until check is satisfied.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %v", waitTimeout, err)
		case <-tick.C:
		}
	}
}

// client is a connection with its metrics.
type client struct {
	*bus.Conn
	reg *prometheus.Registry
}

func connect(t *testing.T, url string) client {
	t.Helper()
	reg := prometheus.NewRegistry()
	conn, err := bus.Connect(bus.Config{URL: url, Name: "tester", Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return client{conn, reg}
}

// metric sums all series of one metric.
func (c client) metric(t *testing.T, name string) float64 {
	t.Helper()
	families, err := c.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// published returns the number of attempts with one outcome.
func (c client) published(t *testing.T, outcome string) int {
	t.Helper()
	families, err := c.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "flotilla_bus_published_total" && l.GetValue() == outcome {
					return int(m.GetCounter().GetValue())
				}
			}
		}
	}
	return 0
}

// running runs something until the test ends and fails if it does not stop.
func running(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(waitTimeout):
			t.Error("did not stop")
		}
	}
	t.Cleanup(stop)
	return stop
}

func bootstrapped(t *testing.T) (*natstest.Server, client) {
	t.Helper()
	srv := natstest.Start(t)
	c := connect(t, srv.URL())
	bootstrap(t, c)
	return srv, c
}

func bootstrap(t *testing.T, c client) {
	t.Helper()
	eventually(t, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return bus.Bootstrap(ctx, c.JetStream(), bus.DefaultParams())
	})
}

// stored returns the last message of each subject in the stream of observations.
func stored(ctx context.Context, c client, subjects ...string) (map[string]string, error) {
	out := map[string]string{}
	stream, err := c.JetStream().Stream(ctx, contract.StreamObservations)
	if err != nil {
		return nil, err
	}
	for _, s := range subjects {
		m, err := stream.GetLastMsgForSubject(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		out[s] = string(m.Data)
	}
	return out, nil
}

func wantStored(t *testing.T, c client, want map[string]string) {
	t.Helper()
	eventually(t, func() error {
		for subject, body := range want {
			got, err := stored(t.Context(), c, subject)
			if err != nil {
				return err
			}
			if got[subject] != body {
				return fmt.Errorf("%s holds %q, want %q", subject, got[subject], body)
			}
		}
		return nil
	})
}

func streamState(t *testing.T, c client, name string) jetstream.StreamState {
	t.Helper()
	stream, err := c.JetStream().Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State
}

func subject(i int) string {
	return fmt.Sprintf("%s.prod.ns.superset.s%d.tester", contract.ObservationPrefix, i)
}

// text builds a message with the given body.
func text(id, body string) func() (bus.Message, error) {
	return func() (bus.Message, error) { return bus.Message{ID: id, Body: []byte(body)}, nil }
}

// leaks returns the stacks of goroutines that still run code of the client or of this package.
func leaks() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var out []string
	for g := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(g, "nats-io/nats.go") || strings.Contains(g, "libs/bus.(*") {
			out = append(out, g)
		}
	}
	return strings.Join(out, "\n\n")
}

func wantNoLeaks(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		if l := leaks(); l != "" {
			return fmt.Errorf("goroutines left:\n%s", l)
		}
		return nil
	})
}

func decodeObservation(t *testing.T, body string) (contract.Event, contract.Observation) {
	t.Helper()
	e, o, err := contract.Decode[contract.Observation]([]byte(body))
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return e, o
}
