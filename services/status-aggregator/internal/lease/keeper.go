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
)

// Times of the Lease.
const (
	// Duration is after how long without a renewal the operators write for themselves.
	Duration = 30 * time.Second
	// RenewEvery is the pause between two renewals.
	RenewEvery = 10 * time.Second
	// RetryEvery is the pause after a renewal that did not succeed, and between two looks at our health.
	RetryEvery = time.Second
	// margin ends our right before the operators' begins.
	margin = 5 * time.Second
)

// Config says which Lease to hold, and when.
type Config struct {
	// Client reads and writes the Lease without a cache.
	Client    client.Client
	Namespace string
	Name      string
	// Identity is this process.
	Identity string
	// Healthy says whether this process can do what the Lease promises.
	Healthy func() bool
	// OnChange is called when [Keeper.Held] begins or ceases to be true.
	OnChange func(held bool)
	Clock    clock.WithTicker
	// Pause is how long this process may stand still and go on as if nothing had been:
	// less than anybody needs to take its place.
	Pause time.Duration
	// Doubt is for how long it holds back after that: longer than leader election takes
	// to tell a leader that it was replaced.
	Doubt time.Duration
}

// Keeper renews the Lease while it may. It runs on the leader only.
type Keeper struct {
	cfg Config

	mu      sync.Mutex
	renewed time.Time // last renewal; zero: we do not hold it
	stepped time.Time // last sign that this process runs
	woken   time.Time // end of the last standstill
	told    bool
}

// New returns a keeper that holds nothing before [Keeper.Start].
func New(cfg Config) *Keeper { return &Keeper{cfg: cfg} }

// Held says whether this process may write the conditions now.
func (k *Keeper) Held() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.heldLocked()
}

// Start renews until the context ends.
func (k *Keeper) Start(ctx context.Context) error {
	ticker := k.cfg.Clock.NewTicker(RetryEvery)
	defer ticker.Stop()
	for {
		if err := k.Step(ctx); err != nil {
			logr.FromContextOrDiscard(ctx).Info("Renewed the lease in vain", "lease", k.cfg.Name, "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			k.drop()
			return nil
		case <-ticker.C():
		}
	}
}

// Step looks at our health once and renews the Lease if that is due.
func (k *Keeper) Step(ctx context.Context) error {
	k.wake()
	defer k.tell()
	if !k.cfg.Healthy() {
		k.drop()
		return nil
	}
	k.mu.Lock()
	due := k.cfg.Clock.Since(k.renewed) >= RenewEvery && k.cfg.Clock.Since(k.woken) >= k.cfg.Doubt
	k.mu.Unlock()
	if !due {
		return nil
	}
	// The time counts from before the request: the operators see the renewal later than that.
	now := k.cfg.Clock.Now()
	if err := k.renew(ctx, now); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewed, k.stepped = now, k.cfg.Clock.Now()
	return nil
}

// wake drops the Lease after a time in which this process stood still: others may have
// written since, and it has to begin anew like any other leader.
func (k *Keeper) wake() {
	now := k.cfg.Clock.Now()
	k.mu.Lock()
	stood := !k.renewed.IsZero() && now.Sub(k.stepped) >= k.cfg.Pause
	if stood {
		k.renewed, k.woken = time.Time{}, now
	}
	k.stepped = now
	k.mu.Unlock()
	if stood {
		k.tell()
	}
}

// renew makes this process the holder. It takes the Lease over from a former
// leader without waiting: leader election has told that one to stop.
func (k *Keeper) renew(ctx context.Context, now time.Time) error {
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

func (k *Keeper) fill(l *coordinationv1.Lease, now time.Time) {
	if ptr.Deref(l.Spec.HolderIdentity, "") != k.cfg.Identity {
		l.Spec.HolderIdentity = ptr.To(k.cfg.Identity)
		l.Spec.AcquireTime = ptr.To(metav1.NewMicroTime(now))
		l.Spec.LeaseTransitions = ptr.To(ptr.Deref(l.Spec.LeaseTransitions, -1) + 1)
	}
	l.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
	l.Spec.LeaseDurationSeconds = ptr.To(int32(Duration / time.Second))
}

func (k *Keeper) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewed = time.Time{}
}

// tell reports a change of the answer, once.
func (k *Keeper) tell() {
	k.mu.Lock()
	held := k.heldLocked()
	changed := held != k.told
	k.told = held
	k.mu.Unlock()
	if changed {
		k.cfg.OnChange(held)
	}
}

func (k *Keeper) heldLocked() bool {
	return !k.renewed.IsZero() && k.cfg.Clock.Since(k.renewed) < Duration-margin && k.cfg.Clock.Since(k.stepped) < k.cfg.Pause
}
