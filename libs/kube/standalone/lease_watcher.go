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
const StaleAfter = 30 * time.Second

// retryAfter is how soon a failed read is tried again.
const retryAfter = 2 * time.Second

// LeaseWatcher decides whether this process must write the conditions.
type LeaseWatcher struct {
	objects client.Reader // the manager's cache, for Source
	live    client.Reader // the API server
	lease   types.NamespacedName
	leases  cache.Cache
	clock   clock.Clock
	log     logr.Logger

	mu          sync.Mutex
	must        bool
	subscribers []chan struct{}
}

// LeaseWatcherOption changes a [LeaseWatcher].
type LeaseWatcherOption func(*LeaseWatcher)

// WithClock replaces the real clock.
func WithClock(c clock.Clock) LeaseWatcherOption { return func(g *LeaseWatcher) { g.clock = c } }

// NewLeaseWatcher returns a LeaseWatcher for the Lease in the given namespace and adds it to
// mgr, which runs it on every replica, leader or not. It needs the permissions to get,
// list and watch that one Lease.
func NewLeaseWatcher(mgr manager.Manager, namespace string, opts ...LeaseWatcherOption) (*LeaseWatcher, error) {
	g := &LeaseWatcher{
		objects: mgr.GetClient(),
		live:    mgr.GetAPIReader(),
		lease:   types.NamespacedName{Namespace: namespace, Name: conditions.LeaseName},
		clock:   clock.RealClock{},
		log:     mgr.GetLogger().WithName("conditions-gate"),
	}
	for _, opt := range opts {
		opt(g)
	}
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register leases: %w", err)
	}
	var err error
	// A cache of its own: the manager's may be restricted to other namespaces, and
	// this one holds a single object.
	g.leases, err = cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:        mgr.GetHTTPClient(),
		Mapper:            mgr.GetRESTMapper(),
		Scheme:            scheme,
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
		ByObject: map[client.Object]cache.ByObject{
			&coordinationv1.Lease{}: {Field: fields.OneTermEqualSelector("metadata.name", conditions.LeaseName)},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("create a cache for lease %q: %w", g.lease, err)
	}
	if err := mgr.Add(g); err != nil {
		return nil, fmt.Errorf("add the conditions gate: %w", err)
	}
	return g, nil
}

// ShouldWrite reports whether this process must write the conditions. It returns false
// until the Lease has been read once.
func (g *LeaseWatcher) ShouldWrite() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.must
}

// NeedLeaderElection returns false: every replica watches the Lease, so a new leader starts with a decision.
func (g *LeaseWatcher) NeedLeaderElection() bool { return false }

// Start watches the Lease until ctx ends.
func (g *LeaseWatcher) Start(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	informer, err := g.leases.GetInformer(ctx, &coordinationv1.Lease{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch lease %q: %w", g.lease, err)
	}
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { wake() },
		UpdateFunc: func(_, _ any) { wake() },
		DeleteFunc: func(any) { wake() },
	}); err != nil {
		return fmt.Errorf("watch lease %q: %w", g.lease, err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		if err := g.leases.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
			g.log.Error(err, "Lost the watch of the lease")
		}
	})
	if !g.leases.WaitForCacheSync(ctx) {
		return nil // only when ctx has ended
	}
	g.follow(ctx, changed)
	return nil
}

// follow decides again when the Lease changes, and at the moment it becomes stale.
func (g *LeaseWatcher) follow(ctx context.Context, changed <-chan struct{}) {
	var seen sighting
	reader := client.Reader(g.leases)
	for {
		next := g.look(ctx, reader, &seen)
		var timer clock.Timer
		var due <-chan time.Time
		if next > 0 {
			timer = g.clock.NewTimer(next)
			due = timer.C()
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			reader = g.leases
		case <-due:
			// The cache may be stale: read from the API server before declaring the Lease stale.
			reader = g.live
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// look reads the Lease, decides, and returns the time until the next read; zero
// means that only a change of the Lease requires one.
func (g *LeaseWatcher) look(ctx context.Context, reader client.Reader, seen *sighting) time.Duration {
	var lease coordinationv1.Lease
	err := reader.Get(ctx, g.lease, &lease)
	now := g.clock.Now()
	switch {
	case apierrors.IsNotFound(err):
		*seen = sighting{}
		g.set(true, "no lease")
		return 0
	case err != nil:
		// Keep the decision: an unavailable API server does not mean that the aggregator crashed.
		g.log.V(1).Info("Lease not readable", "reason", err.Error())
		return retryAfter
	}
	seen.update(&lease, now)
	if !seen.held() {
		g.set(true, "lease released")
		return 0
	}
	if left := seen.at.Add(StaleAfter).Sub(now); left > 0 {
		g.set(false, "lease renewed")
		return left
	}
	if reader != g.live {
		return time.Nanosecond // confirm at once
	}
	g.set(true, "lease not renewed")
	return 0
}

func (g *LeaseWatcher) set(must bool, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.must == must {
		return
	}
	g.must = must
	g.log.Info("Writer of the conditions changed", "standalone", must, "reason", why)
	for _, s := range g.subscribers {
		select {
		case s <- struct{}{}:
		default: // a notice is waiting already
		}
	}
}

func (g *LeaseWatcher) subscribe() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := make(chan struct{}, 1)
	g.subscribers = append(g.subscribers, s)
	return s
}

// sighting is what was last seen of the Lease and when, by our own clock. The time
// in the Lease is the writer's and is compared with its own former value only.
type sighting struct {
	holder  string
	renewed time.Time
	at      time.Time
}

func (s *sighting) update(lease *coordinationv1.Lease, now time.Time) {
	var holder string
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	var renewed time.Time
	if lease.Spec.RenewTime != nil {
		renewed = lease.Spec.RenewTime.Time
	}
	if s.at.IsZero() || holder != s.holder || !renewed.Equal(s.renewed) {
		*s = sighting{holder: holder, renewed: renewed, at: now}
	}
}

func (s *sighting) held() bool { return s.holder != "" }
