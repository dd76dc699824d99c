package standalone

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-dev/flotilla/libs/conditions"
)

// StaleAfter is the time without a renewal of the Lease after which operators write the conditions themselves.
const StaleAfter = conditions.LeaseDuration

// retryAfter is the delay before a failed read is retried.
const retryAfter = 2 * time.Second

// LeaseWatcher decides whether this process must write the conditions.
type LeaseWatcher struct {
	objects   client.Reader // the manager's cache, for Source
	apiReader client.Reader // the API server
	lease     types.NamespacedName
	leases    cache.Cache
	clock     clock.Clock
	log       logr.Logger

	mu          sync.Mutex
	shouldWrite bool
	subscribers []chan struct{}
}

// LeaseWatcherOption changes a [LeaseWatcher].
type LeaseWatcherOption func(*LeaseWatcher)

// WithClock replaces the real clock.
func WithClock(c clock.Clock) LeaseWatcherOption { return func(w *LeaseWatcher) { w.clock = c } }

// NewLeaseWatcher returns a LeaseWatcher for the Lease in the given namespace and adds it to
// mgr, which runs it on every replica, leader or not. It needs the permissions to get,
// list and watch that one Lease.
func NewLeaseWatcher(mgr manager.Manager, namespace string, opts ...LeaseWatcherOption) (*LeaseWatcher, error) {
	w := &LeaseWatcher{
		objects:   mgr.GetClient(),
		apiReader: mgr.GetAPIReader(),
		lease:     types.NamespacedName{Namespace: namespace, Name: conditions.LeaseName},
		clock:     clock.RealClock{},
		log:       mgr.GetLogger().WithName("conditions-lease"),
	}
	for _, opt := range opts {
		opt(w)
	}
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register Leases: %w", err)
	}
	var err error
	// Use a separate cache: the manager's may be restricted to other namespaces, and
	// this one holds a single object.
	w.leases, err = cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:        mgr.GetHTTPClient(),
		Mapper:            mgr.GetRESTMapper(),
		Scheme:            scheme,
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
		ByObject: map[client.Object]cache.ByObject{
			&coordinationv1.Lease{}: {Field: fields.OneTermEqualSelector("metadata.name", conditions.LeaseName)},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("create cache for Lease %q: %w", w.lease, err)
	}
	if err := mgr.Add(w); err != nil {
		return nil, fmt.Errorf("add the Lease watcher: %w", err)
	}
	return w, nil
}

// ShouldWrite reports whether this process must write the conditions. It returns false
// until the Lease has been read once.
func (w *LeaseWatcher) ShouldWrite() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shouldWrite
}

// NeedLeaderElection returns false: every replica watches the Lease, so a new leader starts with a decision.
func (w *LeaseWatcher) NeedLeaderElection() bool { return false }

// Start watches the Lease until ctx ends.
func (w *LeaseWatcher) Start(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	informer, err := w.leases.GetInformer(ctx, &coordinationv1.Lease{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch Lease %q: %w", w.lease, err)
	}
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(_, _ any) { notify() },
		DeleteFunc: func(any) { notify() },
	}); err != nil {
		return fmt.Errorf("watch Lease %q: %w", w.lease, err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		if err := w.leases.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
			w.log.Error(err, "Failed to watch Lease")
		}
	})
	if !w.leases.WaitForCacheSync(ctx) {
		return nil // only when ctx has ended
	}
	w.run(ctx, changed)
	return nil
}

// run checks the Lease whenever it changes, and at the moment it becomes stale.
func (w *LeaseWatcher) run(ctx context.Context, changed <-chan struct{}) {
	var seen observedLease
	reader := client.Reader(w.leases)
	for {
		next := w.check(ctx, reader, &seen)
		var timer clock.Timer
		var due <-chan time.Time
		if next > 0 {
			timer = w.clock.NewTimer(next)
			due = timer.C()
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			reader = w.leases
		case <-due:
			// The cache may be stale: read from the API server before declaring the Lease stale.
			reader = w.apiReader
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// check reads the Lease, decides, and returns the time until the next read; zero
// means that only a change of the Lease requires one.
func (w *LeaseWatcher) check(ctx context.Context, reader client.Reader, seen *observedLease) time.Duration {
	var lease coordinationv1.Lease
	err := reader.Get(ctx, w.lease, &lease)
	now := w.clock.Now()
	switch {
	case apierrors.IsNotFound(err):
		*seen = observedLease{}
		w.set(true, "no lease")
		return 0
	case err != nil:
		// Keep the decision: an unavailable API server does not mean that the aggregator crashed.
		w.log.V(1).Info("Failed to get Lease", "reason", err.Error())
		return retryAfter
	}
	seen.update(&lease, now)
	if !seen.held() {
		w.set(true, "lease released")
		return 0
	}
	if remaining := seen.at.Add(StaleAfter).Sub(now); remaining > 0 {
		w.set(false, "lease renewed")
		return remaining
	}
	if reader != w.apiReader {
		return time.Nanosecond // confirm at once
	}
	w.set(true, "lease not renewed")
	return 0
}

func (w *LeaseWatcher) set(shouldWrite bool, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shouldWrite == shouldWrite {
		return
	}
	w.shouldWrite = shouldWrite
	w.log.Info("Writer of the conditions changed", "standalone", shouldWrite, "reason", reason)
	for _, s := range w.subscribers {
		select {
		case s <- struct{}{}:
		default: // a notification is pending
		}
	}
}

func (w *LeaseWatcher) subscribe() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := make(chan struct{}, 1)
	w.subscribers = append(w.subscribers, s)
	return s
}

// observedLease is the Lease as last read, with the time of its last change on this process's
// clock. The time in the Lease is from the writer's clock and is compared only with its former value.
type observedLease struct {
	holder  string
	renewed time.Time
	at      time.Time
}

func (s *observedLease) update(lease *coordinationv1.Lease, now time.Time) {
	var holder string
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	var renewed time.Time
	if lease.Spec.RenewTime != nil {
		renewed = lease.Spec.RenewTime.Time
	}
	if s.at.IsZero() || holder != s.holder || !renewed.Equal(s.renewed) {
		*s = observedLease{holder: holder, renewed: renewed, at: now}
	}
}

func (s *observedLease) held() bool { return s.holder != "" }
