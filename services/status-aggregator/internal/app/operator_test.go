package app

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

var (
	supersetKind = schema.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"}
	engineKind   = schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltEngine"}
)

// operator is a stub operator: it publishes real messages with invented observations.
type operator struct {
	f              *fixture
	name           string
	kind           contract.Kind
	conn           *bus.Conn
	publisher      *bus.Publisher
	observations   *bus.ObservationPublisher
	stopHeartbeats func() // stops the heartbeats
	clockOffset    time.Duration
	interval       time.Duration // interval in its heartbeats
	results        map[string]conditions.State
}

func (f *fixture) operator(name string, kind contract.Kind) *operator {
	f.t.Helper()
	return f.operatorWithClock(name, kind, 0)
}

// operatorWithClock returns an operator whose clock has an offset.
func (f *fixture) operatorWithClock(name string, kind contract.Kind, clockOffset time.Duration) *operator {
	f.t.Helper()
	o := &operator{f: f, name: name, kind: kind, conn: f.connect(name), clockOffset: clockOffset, interval: f.interval, results: map[string]conditions.State{}}
	o.publisher = bus.NewPublisher(o.conn)
	started := time.Now().Add(clockOffset).UnixMilli()
	o.observations = bus.NewObservationPublisher(o.publisher, clusterName, contract.Observer{Name: name, Instance: "pod"},
		func() int64 { return started })
	f.run(o.publisher.Run)
	o.sendHeartbeats()
	return o
}

// sendHeartbeats sends heartbeats, more often than a real operator, until stopHeartbeats is called.
func (o *operator) sendHeartbeats() {
	o.stopHeartbeats = o.f.run(func(ctx context.Context) error {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			if err := o.sendHeartbeat(ctx, n); err != nil && ctx.Err() == nil && o.conn.Connected() {
				o.f.t.Logf("missed a heartbeat: %v", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	})
}

func (o *operator) sendHeartbeat(ctx context.Context, n int) error {
	subject, err := contract.HeartbeatSubject(clusterName, o.name)
	if err != nil {
		return err
	}
	now, unacknowledged := time.Now().Add(o.clockOffset), o.publisher.Depth()
	id := fmt.Sprintf("%s.%d.%d", o.name, now.UnixNano(), n)
	body, err := contract.Encode(contract.Event{ID: id, Source: contract.Source(clusterName, o.name), Time: now},
		contract.Heartbeat{
			Cluster: clusterName, Observer: contract.Observer{Name: o.name}, Epoch: o.observations.Epoch(),
			IntervalSeconds: int(o.interval / time.Second), SentAt: now, Unacknowledged: &unacknowledged,
		})
	if err != nil {
		return err
	}
	_, err = o.conn.Publish(ctx, bus.Message{Subject: subject, ID: id, Body: body})
	return err
}

// superset creates an object without a controller.
func (f *fixture) superset(name string) *unstructured.Unstructured {
	f.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"environment": "Development",
		"image":       map[string]any{"tag": "6.0.0"},
		"secretKey":   "x",
		"metastore":   map[string]any{"uri": "sqlite:////tmp/x"},
		"webServer":   map[string]any{"replicas": int64(2)},
	}}}
	u.SetGroupVersionKind(supersetKind)
	u.SetNamespace(f.namespace)
	u.SetName(name)
	if err := f.client.Create(f.t.Context(), u); err != nil {
		f.t.Fatal(err)
	}
	return u
}

// available starts an operator whose first observation makes a new Superset available, as the aggregator writes.
func (f *fixture) available() (*operator, *unstructured.Unstructured, *recorder) {
	f.t.Helper()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	u := f.superset("main")
	flips := f.record(u)
	o.observe(u, 2)
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	return o, u, flips
}

// read gets the current version of the object.
func (f *fixture) read(u *unstructured.Unstructured) {
	f.t.Helper()
	if err := f.client.Get(f.t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		f.t.Fatal(err)
	}
}

// phase writes the operator's part of the status: the phase and the ring.
func (o *operator) phase(u *unstructured.Unstructured, to string) {
	o.f.t.Helper()
	expect.Eventually(o.f.t, expect.Long, func() error {
		o.f.read(u)
		var status struct {
			Transitions []transition.Entry `json:"transitions"`
		}
		if raw, ok := u.Object["status"].(map[string]any); ok {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &status); err != nil {
				return err
			}
		}
		ring := transition.Append(status.Transitions, to, "Test", "", time.Now())
		_, err := ownedstatus.New(o.f.client, o.name).Apply(o.f.t.Context(), u, map[string]any{"phase": to, "transitions": ring})
		return err
	})
}

// observation returns the observation of a healthy object with two replicas, after a change.
func (o *operator) observation(u *unstructured.Unstructured, available int32) contract.Observation {
	gvk := u.GroupVersionKind()
	return contract.Observation{
		Object: contract.Object{
			GroupVersionKind: contract.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind},
			Namespace:        u.GetNamespace(), Name: u.GetName(), UID: string(u.GetUID()),
			Generation: u.GetGeneration(), ResourceVersion: u.GetResourceVersion(),
		},
		ObservedAt: time.Now().Add(o.clockOffset), ValidForSeconds: int(3 * o.interval / time.Second), ObservedGeneration: u.GetGeneration(), DeployedVersion: "6.0.0",
		Reconcile: contract.Reconcile{Outcome: contract.Succeeded},
		Units: []contract.Unit{{
			Name: "webServer", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
			Desired: 2, Current: 2, Updated: 2, Ready: available, Available: available,
		}},
	}
}

func (o *operator) observe(u *unstructured.Unstructured, available int32) contract.Observation {
	obs := o.observation(u, available)
	o.observations.Publish(o.kind, obs)
	return obs
}

// reportStandalone writes the conditions like an operator without an aggregator.
func (o *operator) reportStandalone(u *unstructured.Unstructured, obs contract.Observation) {
	o.f.t.Helper()
	expect.Eventually(o.f.t, expect.Long, func() error {
		o.f.read(u)
		present, err := expect.Conditions(u)
		if err != nil {
			return err
		}
		result := conditions.Compute(conditions.Input{
			Observation: &obs, Generation: u.GetGeneration(), Freshness: conditions.Fresh, Now: time.Now(),
			Previous: present, Memory: o.results[u.GetName()], WithReady: conditions.WithReady(o.kind),
		})
		o.results[u.GetName()] = result.Memory
		_, err = ownedstatus.New(o.f.client, conditions.FieldManager).ApplyConditions(o.f.t.Context(), u, result.Conditions)
		return err
	})
}

// recorder records every status of the conditions of an object.
type recorder struct {
	mu    sync.Mutex
	flips map[string][]string
}

// record watches an object until the end of the test.
func (f *fixture) record(u *unstructured.Unstructured) *recorder {
	f.t.Helper()
	watcher, err := client.NewWithWatch(f.cluster.Config, client.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(u.GroupVersionKind())
	events, err := watcher.Watch(f.t.Context(), list, client.InNamespace(u.GetNamespace()),
		client.MatchingFields{"metadata.name": u.GetName()})
	if err != nil {
		f.t.Fatal(err)
	}
	r := &recorder{flips: map[string][]string{}}
	go func() {
		for e := range events.ResultChan() {
			if o, ok := e.Object.(*unstructured.Unstructured); ok {
				r.note(o)
			}
		}
	}()
	f.t.Cleanup(events.Stop)
	return r
}

func (r *recorder) note(u *unstructured.Unstructured) {
	present, err := expect.Conditions(u)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range present {
		previous := r.flips[c.Type]
		if len(previous) == 0 || previous[len(previous)-1] != string(c.Status) {
			r.flips[c.Type] = append(previous, string(c.Status))
		}
	}
}

func (r *recorder) of(conditionType string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.flips[conditionType])
}

// want compares the recorded statuses of a condition.
func (r *recorder) want(t *testing.T, conditionType string, statuses ...string) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		if got := r.of(conditionType); got != fmt.Sprint(statuses) {
			return fmt.Errorf("%s was %s, want %v", conditionType, got, statuses)
		}
		return nil
	})
}

// condition waits for a condition with a status and a reason.
func (f *fixture) condition(u *unstructured.Unstructured, conditionType string, status metav1.ConditionStatus, reason string) metav1.Condition {
	f.t.Helper()
	var found metav1.Condition
	expect.Eventually(f.t, expect.Long, func() error {
		f.read(u)
		present, err := expect.Conditions(u)
		if err != nil {
			return err
		}
		for _, c := range present {
			if c.Type == conditionType && c.Status == status && c.Reason == reason {
				found = c
				return nil
			}
		}
		return fmt.Errorf("no %s=%s/%s among %v", conditionType, status, reason, present)
	})
	return found
}
