package app

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// latestObservation returns the latest message of an object in the observation stream; nil for none.
func (f *fixture) latestObservation(name string) (*contract.Observation, error) {
	subject := fmt.Sprintf("flotilla.obs.v1.%s.%s.superset.%s.superset-operator", clusterName, f.namespace, name)
	stream, err := f.conn.JetStream().Stream(f.t.Context(), contract.StreamObservations)
	if err != nil {
		return nil, err
	}
	m, err := stream.GetLastMsgForSubject(f.t.Context(), subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, o, err := contract.Decode[contract.Observation](m.Data)
	return &o, err
}

func (f *fixture) waitForPurge(name string) {
	f.t.Helper()
	expect.Eventually(f.t, expect.Long, func() error {
		if o, err := f.latestObservation(name); o != nil || err != nil {
			return errors.Join(fmt.Errorf("the stream has the observation %+v", o), err)
		}
		return nil
	})
}

// The last observation of an operator that was removed before its object is purged with the
// object: while the aggregator watches, and when it detects the deletion later.
func TestTombstoneIsPurgedWithObject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	observed, unobserved := f.superset("seen"), f.superset("missed")
	for _, u := range []*unstructured.Unstructured{observed, unobserved} {
		o.observe(u, 2)
		f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	}
	if err := f.client.Delete(t.Context(), observed); err != nil {
		t.Fatal(err)
	}
	f.waitForPurge("seen")
	r.stop()
	if err := f.client.Delete(t.Context(), unobserved); err != nil {
		t.Fatal(err)
	}
	second := f.start()
	f.waitForPurge("missed")
	if n, err := testutil.GatherAndCount(second.registry, "flotilla_status_condition", "flotilla_status_observation_timestamp_seconds"); err != nil || n != 0 {
		t.Errorf("%d series of deleted objects, %v", n, err)
	}
}

// The object is known only from the bus, since its entry was lost too.
func TestTombstoneOfUnknownObject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o := f.operator("superset-operator", contract.Superset)
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(supersetKind)
	u.SetNamespace(f.namespace)
	u.SetName("ghost")
	u.SetUID("ghost")
	o.observe(u, 2)
	expect.Eventually(t, expect.Long, func() error {
		if obs, err := f.latestObservation("ghost"); obs == nil {
			return errors.Join(errors.New("no observation yet"), err)
		}
		return nil
	})
	f.start()
	f.leading(time.Time{})
	f.waitForPurge("ghost")
	f.wantHistory()
}

// A cluster that is restored from a backup has phase changes with lower numbers. The regression
// is published once, and later changes are published as usual.
func TestPhaseChangesOfRestoredCluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	u := f.superset("main")
	for _, to := range []string{"Initializing", "Running", "Degraded"} {
		o.phase(u, to)
	}
	o.observe(u, 2)
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	f.waitForPhases(u, 3)

	f.read(u)
	status, ok := u.Object["status"].(map[string]any)
	if !ok {
		t.Fatal("no status")
	}
	ring, ok := status["transitions"].([]any)
	if !ok || len(ring) != 3 {
		t.Fatalf("transitions %v", status["transitions"])
	}
	if _, err := ownedstatus.New(f.client, o.name).Apply(t.Context(), u, map[string]any{"phase": "Initializing", "transitions": ring[:1]}); err != nil {
		t.Fatal(err)
	}
	f.waitForPhases(u, 1)
	o.phase(u, "Running")
	f.waitForPhases(u, 2)
	var types []string
	for _, line := range f.history() {
		switch line {
		case "main phase Initializing", "main phase Running", "main phase Degraded", "main gap Initializing gap":
			types = append(types, line)
		}
	}
	want := []string{"main phase Initializing", "main phase Running", "main phase Degraded", "main gap Initializing gap", "main phase Running"}
	if fmt.Sprint(types) != fmt.Sprint(want) {
		t.Errorf("got events %q, want %q", types, want)
	}
}

func (f *fixture) waitForPhases(u *unstructured.Unstructured, seq int64) {
	f.t.Helper()
	expect.Eventually(f.t, expect.Long, func() error {
		if e := f.entry(contract.Superset, u); e.LastTransitionSeq != seq {
			return fmt.Errorf("published up to %d, want %d", e.LastTransitionSeq, seq)
		}
		return nil
	})
}
