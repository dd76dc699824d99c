package app

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// With the bus down the aggregator holds no Lease and writes nothing; the operator
// writes the conditions. When the bus returns, only conditions that the operator changed flip.
func TestBusOutageAndRecovery(t *testing.T) {
	t.Parallel()
	for name, dataLost := range map[string]bool{"as it was": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.interval = bus.HeartbeatInterval // an observation may be sent that late after the bus has returned
			r := f.start()
			o, u, flips := f.available()
			f.wantHistory("main snapshot")

			f.nats.Stop()
			r.waitForLease(t, 0)
			renewed := f.lease().Spec.RenewTime
			o.reportStandalone(u, o.observe(u, 1)) // its decision 30 s after the last renewal
			version := u.GetResourceVersion()
			expect.Never(t, 2*time.Second, func() error {
				f.read(u)
				if now := f.lease().Spec.RenewTime; !now.Equal(renewed) || u.GetResourceVersion() != version {
					return fmt.Errorf("lease renewed at %s, resourceVersion %s to %s", now, version, u.GetResourceVersion())
				}
				return nil
			})

			if dataLost {
				f.nats.Wipe()
			} else {
				f.nats.Start()
			}
			f.bootstrap()
			f.leading(renewed.Time)
			if dataLost {
				f.wantHistory("main snapshot gap")
			} else {
				f.wantHistory("main snapshot", "main unavailable Available=False", "main progressing Progressing=True",
					"main notupgradable Upgradable=False")
			}
			f.condition(u, conditions.TypeAvailable, "False", conditions.ReasonInsufficientReplicas)
			flips.want(t, conditions.TypeAvailable, "True", "False")
			o.observe(u, 2)
			flips.want(t, conditions.TypeAvailable, "True", "False", "True")
			flips.want(t, conditions.TypeDegraded, "False")
		})
	}
}

// An aggregator that cannot read one of its streams does not hold the Lease: the operators write the conditions.
func TestMissingStreamEndsLease(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{contract.StreamObservations, contract.StreamHeartbeats} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			r := f.start()
			o, u, flips := f.available()
			if err := f.conn.JetStream().DeleteStream(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
			r.waitForLease(t, 0)
			o.reportStandalone(u, o.observe(u, 1))
			f.bootstrap()
			r.waitForLease(t, 1)
			o.observe(u, 2)
			flips.want(t, conditions.TypeAvailable, "True", "False", "True")
		})
	}
}

// Streams that are deleted while an aggregator runs are read again after they are re-created.
func TestRecreatedStreamsAreReplayed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	o, u, flips := f.available()
	f.wantHistory("main snapshot") // an event that is still in the outbox is not lost with the stream
	for _, stream := range []string{contract.StreamObservations, contract.StreamHeartbeats, "KV_" + contract.BucketStatus, contract.StreamLifecycle} {
		if err := f.conn.JetStream().DeleteStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
	}
	f.bootstrap()
	f.wantHistory("main snapshot gap")
	o.observe(u, 1)
	flips.want(t, conditions.TypeAvailable, "True", "False")
}

// A handover from a standalone operator writes nothing when both compute the same conditions.
func TestTakeoverWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o := f.operator("superset-operator", contract.Superset)
	u := f.superset("main")
	o.reportStandalone(u, o.observe(u, 2))
	version := u.GetResourceVersion()
	f.start()
	f.leading(time.Time{})
	f.wantHistory("main snapshot gap") // earlier changes are not in the history
	expect.Never(t, time.Second, func() error {
		if f.read(u); u.GetResourceVersion() != version {
			return fmt.Errorf("resourceVersion %s to %s", version, u.GetResourceVersion())
		}
		return nil
	})
}

// One of two replicas is the leader; the other becomes the leader when it stops.
func TestStandbyBecomesLeader(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	second := f.start()
	u := f.superset("main")
	flips := f.record(u)
	o.observe(u, 2)
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	if held := value(t, second, "flotilla_status_lease_held"); held != 0 {
		t.Errorf("the standby holds the lease: %v", held)
	}
	first.stop()
	o.observe(u, 1)
	flips.want(t, conditions.TypeAvailable, "True", "False")
	if diff := cmp.Diff([]string{"main snapshot", "main unavailable Available=False"}, f.history()[:2]); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// value reads a metric without labels.
func value(t *testing.T, r *running, name string) float64 {
	t.Helper()
	return r.metric(t, name, nil)
}

// waitForLease waits until the aggregator holds the Lease (1), or does not (0).
func (r *running) waitForLease(t *testing.T, want float64) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		if held := value(t, r, "flotilla_status_lease_held"); held != want {
			return fmt.Errorf("lease held: %v, want %v", held, want)
		}
		return nil
	})
}

// metric reads a counter or gauge of an aggregator.
func (r *running) metric(t *testing.T, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && matches(m, labels) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func matches(m *dto.Metric, labels map[string]string) bool {
	for _, l := range m.GetLabel() {
		if want, ok := labels[l.GetName()]; ok && want != l.GetValue() {
			return false
		}
	}
	return true
}
