package lease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/conditions"
)

// Timing of the Lease.
const (
	// Duration is the time without a renewal after which the operators write the conditions themselves.
	Duration = conditions.LeaseDuration
	// RenewEvery is the interval of renewals.
	RenewEvery = 10 * time.Second
	// RetryEvery is the delay after a failed renewal, and the interval of health checks.
	RetryEvery = time.Second
	// margin is how much earlier than the operators this process considers the Lease expired, so that two never write.
	margin = 5 * time.Second
)

// Config describes the Lease and when to hold it.
type Config struct {
	// Client reads and writes the Lease without a cache.
	Client    client.Client
	Namespace string
	Name      string
	// Identity identifies this process.
	Identity string
	// Healthy reports whether this process can write conditions.
	Healthy func() bool
	// OnChange is called when [Holder.Held] changes.
	OnChange func(held bool)
	Clock    clock.WithTicker
	// Pause is the longest suspension of this process without a consequence: less than the
	// shortest failover.
	Pause time.Duration
	// HoldOff is how long the process does not renew after a longer suspension: more than leader
	// election takes to stop a replaced leader.
	HoldOff time.Duration
}

// Holder renews the Lease while the process is healthy. It runs on the leader only.
type Holder struct {
	cfg Config

	mu       sync.Mutex
	renewed  time.Time // last renewal; zero if not held
	lastStep time.Time // last sign that this process runs
	resumed  time.Time // end of the last suspension
	reported bool
}

// New returns a holder that holds nothing before [Holder.Start].
func New(cfg Config) *Holder { return &Holder{cfg: cfg} }

// Held reports whether this process may write the conditions now.
func (k *Holder) Held() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.heldLocked()
}

// Start renews until the context ends.
func (k *Holder) Start(ctx context.Context) error {
	ticker := k.cfg.Clock.NewTicker(RetryEvery)
	defer ticker.Stop()
	for {
		if err := k.Step(ctx); err != nil {
			logr.FromContextOrDiscard(ctx).Info("Failed to renew lease", "lease", k.cfg.Name, "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			k.release()
			return nil
		case <-ticker.C():
		}
	}
}

// Step checks the health once and renews the Lease if that is due.
func (k *Holder) Step(ctx context.Context) error {
	k.detectStall()
	defer k.report()
	if !k.cfg.Healthy() {
		k.release()
		return nil
	}
	k.mu.Lock()
	due := k.since(k.renewed) >= RenewEvery && k.since(k.resumed) >= k.cfg.HoldOff
	k.mu.Unlock()
	if !due {
		return nil
	}
	// The validity starts before the request, because the operators see the renewal later.
	now := k.cfg.Clock.Now()
	err := k.renew(ctx, now)
	if k.detectStall() || err != nil {
		return err // a renewal during a suspension does not count: another process may hold the Lease since
	}
	k.report() // it may have expired during the renewal: reconciles ended without a write then
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewed = now
	return nil
}

// detectStall drops the Lease after a suspension of this process, and reports whether it did: other processes may
// have written since, and it must restart like a new leader.
func (k *Holder) detectStall() bool {
	k.mu.Lock()
	stalled := !k.lastStep.IsZero() && k.since(k.lastStep) >= k.cfg.Pause
	k.lastStep = k.cfg.Clock.Now()
	if stalled {
		k.renewed, k.resumed = time.Time{}, k.lastStep
	}
	k.mu.Unlock()
	if stalled {
		k.report()
	}
	return stalled
}

// since returns the time since t by the wall clock too: the monotonic clock stops while the machine is suspended.
func (k *Holder) since(t time.Time) time.Duration {
	return max(k.cfg.Clock.Since(t), k.cfg.Clock.Now().Round(0).Sub(t.Round(0)))
}

// renew makes this process the holder. It acquires the Lease from a previous leader without
// a delay: leader election has already stopped that leader.
func (k *Holder) renew(ctx context.Context, now time.Time) error {
	var l coordinationv1.Lease
	key := client.ObjectKey{Namespace: k.cfg.Namespace, Name: k.cfg.Name}
	err := k.cfg.Client.Get(ctx, key, &l)
	if apierrors.IsNotFound(err) {
		l = coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		k.fill(&l, now)
		if err := k.cfg.Client.Create(ctx, &l); err != nil {
			return fmt.Errorf("create lease %q: %w", key, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read lease %q: %w", key, err)
	}
	k.fill(&l, now)
	if err := k.cfg.Client.Update(ctx, &l); err != nil { // carries the resourceVersion that was read
		return fmt.Errorf("renew lease %q: %w", key, err)
	}
	return nil
}

func (k *Holder) fill(l *coordinationv1.Lease, now time.Time) {
	if ptr.Deref(l.Spec.HolderIdentity, "") != k.cfg.Identity {
		l.Spec.HolderIdentity = new(k.cfg.Identity)
		l.Spec.AcquireTime = new(metav1.NewMicroTime(now))
		l.Spec.LeaseTransitions = new(ptr.Deref(l.Spec.LeaseTransitions, -1) + 1)
	}
	l.Spec.RenewTime = new(metav1.NewMicroTime(now))
	l.Spec.LeaseDurationSeconds = new(int32(Duration / time.Second))
}

func (k *Holder) release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewed = time.Time{}
}

// report reports a change of the answer, once.
func (k *Holder) report() {
	k.mu.Lock()
	held := k.heldLocked()
	changed := held != k.reported
	k.reported = held
	k.mu.Unlock()
	if changed {
		k.cfg.OnChange(held)
	}
}

func (k *Holder) heldLocked() bool {
	return !k.renewed.IsZero() && k.since(k.renewed) < Duration-margin && k.since(k.lastStep) < k.cfg.Pause
}
