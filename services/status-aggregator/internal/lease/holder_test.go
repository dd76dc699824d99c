package lease

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// unreliable rejects updates while failing, and calls duringUpdate in each.
type unreliable struct {
	client.Client
	failing      bool
	duringUpdate func()
}

func (u *unreliable) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if u.failing {
		return errors.New("no route to the API server")
	}
	if u.duringUpdate != nil {
		u.duringUpdate()
	}
	return u.Client.Update(ctx, o, opts...)
}

type fixture struct {
	t        *testing.T
	client   *unreliable
	clock    *clocktesting.FakeClock
	healthy  bool
	reported []bool
	cfg      Config
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	c := cluster.Get(t)
	f := &fixture{t: t, client: &unreliable{Client: c.Client(t, scheme.Scheme)}, clock: clocktesting.NewFakeClock(start), healthy: true}
	f.cfg = Config{
		Client: f.client, Namespace: c.Namespace(t), Name: "flotilla-conditions", Identity: "one",
		Healthy:  func() bool { return f.healthy },
		OnChange: func(held bool) { f.reported = append(f.reported, held) },
		Clock:    f.clock, Pause: 10 * time.Second, HoldOff: 15 * time.Second,
	}
	return f
}

func (f *fixture) lease() coordinationv1.LeaseSpec {
	f.t.Helper()
	var l coordinationv1.Lease
	if err := f.client.Get(f.t.Context(), client.ObjectKey{Namespace: f.cfg.Namespace, Name: f.cfg.Name}, &l); err != nil {
		f.t.Fatal(err)
	}
	return l.Spec
}

// step advances the time, one check at a time.
func (f *fixture) step(k *Holder, d time.Duration) error {
	var err error
	for range int(d / RetryEvery) {
		f.clock.Step(RetryEvery)
		err = errors.Join(err, k.Step(f.t.Context()))
	}
	return err
}

func (f *fixture) want(k *Holder, held bool, renewed time.Duration) {
	f.t.Helper()
	l := f.lease()
	if got := l.RenewTime.Sub(start); k.Held() != held || got != renewed {
		f.t.Errorf("held %v, renewed at %s; want %v, %s", k.Held(), got, held, renewed)
	}
}

func TestHolderRenewsWhileHealthy(t *testing.T) {
	f := newFixture(t)
	k := New(f.cfg)
	if k.Held() {
		t.Error("held before the first renewal")
	}
	if err := k.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.want(k, true, 0)
	if err := f.step(k, 25*time.Second); err != nil {
		t.Fatal(err)
	}
	f.want(k, true, 20*time.Second)

	f.healthy = false
	if err := f.step(k, time.Minute); err != nil {
		t.Fatal(err)
	}
	f.want(k, false, 20*time.Second) // no renewal, and the Lease is not held from now on

	f.healthy = true
	if err := f.step(k, time.Second); err != nil {
		t.Fatal(err)
	}
	f.want(k, true, 86*time.Second)
	if diff := cmp.Diff([]bool{true, false, true}, f.reported); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if l := f.lease(); *l.HolderIdentity != "one" || *l.LeaseTransitions != 0 || *l.LeaseDurationSeconds != 30 {
		t.Errorf("lease %+v", l)
	}
}

// The holder stops before the operators start, 30 s after the last renewal.
func TestHolderStopsBeforeOperatorsStart(t *testing.T) {
	f := newFixture(t)
	k := New(f.cfg)
	if err := k.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.client.failing = true
	if err := f.step(k, 24*time.Second); err == nil {
		t.Error("no error from the broken client")
	}
	if !k.Held() {
		t.Error("lost after 24 s")
	}
	f.clock.Step(time.Second) // no check needed
	if k.Held() {
		t.Error("still held after 25 s")
	}
	f.client.failing = false
	if err := f.step(k, time.Second); err != nil {
		t.Fatal(err)
	}
	f.want(k, true, 26*time.Second)
}

func TestHolderReplacesFormerLeader(t *testing.T) {
	f := newFixture(t)
	formerLeader := New(f.cfg)
	if err := formerLeader.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(3 * time.Second)
	cfg := f.cfg
	cfg.Identity = "two"
	second := New(cfg)
	if err := second.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.want(second, true, 3*time.Second)
	l := f.lease()
	if diff := cmp.Diff([]any{"two", int32(1)}, []any{*l.HolderIdentity, ptr.Deref(l.LeaseTransitions, -1)}); diff != "" {
		t.Errorf("holder and transitions (-want +got):\n%s", diff)
	}
}

func TestStartRunsUntilContextEnds(t *testing.T) {
	f := newFixture(t)
	k := New(f.cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Start(ctx) }()
	expect.Eventually(t, expect.Long, func() error {
		if !k.Held() {
			return fmt.Errorf("not held at %s", f.clock.Now())
		}
		return nil
	})
	cancel()
	if err := <-done; err != nil || k.Held() {
		t.Errorf("ended with %v, held %v", err, k.Held())
	}
}

// A process that was paused does not hold the Lease before it has renewed it, and is notified that it
// did not hold it in between.
func TestHolderDetectsStall(t *testing.T) {
	f := newFixture(t)
	k := New(f.cfg)
	if err := k.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(f.cfg.Pause - time.Second)
	if !k.Held() {
		t.Error("lost by a stall too short for a failover")
	}
	if err := k.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(f.cfg.Pause)
	if k.Held() {
		t.Error("held after a stall of the process")
	}
	if err := k.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.want(k, false, 0) // a leader that was replaced detects it now
	if err := f.step(k, f.cfg.HoldOff); err != nil {
		t.Fatal(err)
	}
	f.want(k, true, 2*f.cfg.Pause-time.Second+f.cfg.HoldOff)
	if diff := cmp.Diff([]bool{true, false, true}, f.reported); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A renewal that spans a suspension does not count: another process may have become the leader since. The Lease is not
// held during it, and reconciles end without a write: both changes are reported, so that all objects are reconciled again.
func TestHolderDetectsStallDuringRenewal(t *testing.T) {
	f := newFixture(t)
	k := New(f.cfg)
	if err := k.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.client.duringUpdate = func() {
		f.client.duringUpdate = nil
		f.clock.Step(f.cfg.Pause)
		if k.Held() {
			t.Error("held during a renewal that is too slow")
		}
	}
	if err := f.step(k, RenewEvery); err != nil {
		t.Fatal(err)
	}
	f.want(k, false, RenewEvery)
	if err := f.step(k, f.cfg.HoldOff); err != nil {
		t.Fatal(err)
	}
	f.want(k, true, RenewEvery+f.cfg.Pause+f.cfg.HoldOff)
	if diff := cmp.Diff([]bool{true, false, true}, f.reported); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The validity ends during a renewal that succeeds: reconciles ended without a write, so both changes are reported.
func TestHolderReportsExpiryDuringRenewal(t *testing.T) {
	f := newFixture(t)
	k := New(f.cfg)
	if err := k.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.client.failing = true
	if err := f.step(k, 24*time.Second); err == nil {
		t.Fatal("no renewal failed")
	}
	f.client.failing = false
	f.client.duringUpdate = func() {
		f.client.duringUpdate = nil
		f.clock.Step(2 * time.Second)
		if k.Held() {
			t.Error("held after its validity")
		}
	}
	if err := k.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{true, false, true}, f.reported); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
