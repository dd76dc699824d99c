package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Config holds the settings of a Tracker.
type Config struct {
	DB      *sql.DB
	Cluster *Cluster
	Clock   clock.WithTicker
	Log     logr.Logger
	// Events receives a Warning event, on the ConfigMap, when the database is behind. Nil disables it.
	Events events.EventRecorder
	// Registerer registers the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	// Ready is closed once the schema is current.
	Ready <-chan struct{}
}

// Tracker compares and increments the two numbers. The leader runs it; it is a
// manager.Runnable. It is safe for concurrent use.
type Tracker struct {
	cfg     Config
	metrics *metrics

	// clusterMu guards the cluster's copy: one request at a time.
	clusterMu sync.Mutex

	mu      sync.Mutex
	highest int64 // the highest observed number of the cluster
	checked bool  // both numbers were compared once
	behind  error // the last comparison
	missing map[access]bool
	next    *increment
	running bool
}

// access is an access to the ConfigMap. A Role may permit only one of them.
type access string

const (
	read  access = "read"
	write access = "write"
)

// increment is one increment of the number, for all evictions that wait.
type increment struct {
	done chan struct{}
	err  error
}

const (
	// checkInterval is the interval between two comparisons.
	checkInterval = 10 * time.Second
	// timeout is the timeout of one comparison, and of one increment.
	timeout = 10 * time.Second
)

// New returns a tracker. [Tracker.Start] runs it.
func New(cfg Config) (*Tracker, error) {
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	return &Tracker{cfg: cfg, metrics: m, missing: map[access]bool{}}, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (k *Tracker) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. It compares the numbers until ctx ends, so that an older
// database is reported before the next eviction, and evictions resume once it is accepted.
func (k *Tracker) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-k.cfg.Ready:
	}
	for {
		err := k.Check(ctx)
		if err == nil {
			err = k.catchUp(ctx)
		}
		if err != nil && !errors.Is(err, ErrBehind) && ctx.Err() == nil {
			k.cfg.Log.V(1).Info("Failed to compare checkpoints", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.cfg.Clock.After(checkInterval):
		}
	}
}

// Check compares the current numbers. The error is ErrBehind, or the failure to read them.
func (k *Tracker) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Read the database last, since evictions increment it first.
	cluster, err := k.read(ctx)
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.highest = max(k.highest, cluster)
	minimum := k.highest
	k.mu.Unlock()
	database, err := Stored(ctx, k.cfg.DB)
	if err != nil {
		return err
	}
	err = compare(database, minimum)
	k.record(err)
	return err
}

// read returns the cluster's number, or 0 without the permission to read it.
func (k *Tracker) read(ctx context.Context) (int64, error) {
	k.clusterMu.Lock()
	defer k.clusterMu.Unlock()
	number, err := k.cfg.Cluster.Read(ctx)
	return number, k.permitted(read, err)
}

// catchUp writes the number of the database to the cluster while the permission to write it was
// missing: it may have been granted since, and the next eviction may be far away.
func (k *Tracker) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	k.clusterMu.Lock()
	defer k.clusterMu.Unlock()
	k.mu.Lock()
	missing := k.missing[write]
	k.mu.Unlock()
	if !missing {
		return nil
	}
	number, err := Stored(ctx, k.cfg.DB)
	if err != nil {
		return err
	}
	return k.permitted(write, k.cfg.Cluster.Raise(ctx, number))
}

// Behind compares the current database with the last observed number of the cluster,
// without a request to the API server.
func (k *Tracker) Behind(ctx context.Context) error {
	k.mu.Lock()
	checked, minimum := k.checked, k.highest
	k.mu.Unlock()
	if !checked {
		return k.Check(ctx)
	}
	database, err := Stored(ctx, k.cfg.DB)
	if err != nil {
		return errors.Join(storage.ErrNotWritten, err)
	}
	err = compare(database, minimum)
	k.record(err)
	return err
}

// Advance increments both numbers, after an eviction was committed and before its object
// is deleted. Concurrent callers share one increment that begins after their calls.
func (k *Tracker) Advance(ctx context.Context) error {
	k.mu.Lock()
	r := k.next
	if r == nil {
		r = &increment{done: make(chan struct{})}
		k.next = r
	}
	if !k.running {
		k.running = true
		go k.rounds(context.WithoutCancel(ctx))
	}
	k.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *Tracker) rounds(ctx context.Context) {
	for {
		k.mu.Lock()
		r := k.next
		k.next, k.running = nil, r != nil
		k.mu.Unlock()
		if r == nil {
			return
		}
		if r.err = k.advance(ctx); r.err != nil && !errors.Is(r.err, ErrBehind) {
			k.cfg.Log.Error(r.err, "Failed to advance the checkpoint, evictions are delayed")
			r.err = errors.Join(storage.ErrNotWritten, r.err)
		}
		close(r.done)
	}
}

func (k *Tracker) advance(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	k.mu.Lock()
	checked := k.checked
	k.mu.Unlock()
	if !checked {
		if err := k.Check(ctx); err != nil {
			return err
		}
	}
	k.mu.Lock()
	minimum := k.highest
	k.mu.Unlock()
	number, err := advance(ctx, k.cfg.DB, minimum)
	if errors.Is(err, ErrBehind) {
		k.record(err)
	}
	if err != nil {
		return err
	}
	k.clusterMu.Lock()
	err = k.permitted(write, k.cfg.Cluster.Raise(ctx, number))
	k.clusterMu.Unlock()
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.highest = max(k.highest, number)
	k.mu.Unlock()
	return nil
}

// permitted drops the error of a missing permission and logs it once: an ingester that was
// upgraded with an old Role continues as before.
func (k *Tracker) permitted(a access, err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil:
		delete(k.missing, a)
	case !apierrors.IsForbidden(err):
		return err
	default:
		if len(k.missing) == 0 {
			k.cfg.Log.Info("Failed to access the checkpoint ConfigMap, older databases are not detected: see config/rbac/role.yaml", "reason", err.Error())
		}
		k.missing[a] = true
	}
	k.metrics.unprotected.Set(float64(min(len(k.missing), 1)))
	return nil
}

// record records a comparison, and reports changes of its result in the log and an event.
func (k *Tracker) record(err error) {
	k.mu.Lock()
	previous := k.behind
	k.behind, k.checked = err, true
	k.mu.Unlock()
	switch {
	case err != nil && previous == nil:
		k.metrics.behind.Set(1)
		k.cfg.Log.Error(err, "Stopped evictions and sweeps")
		if k.cfg.Events != nil {
			k.cfg.Events.Eventf(ConfigMap(k.cfg.Cluster.Namespace), nil, corev1.EventTypeWarning, "DatabaseBehind", "Compare", "%s", fmt.Sprint(err))
		}
	case err == nil && previous != nil:
		k.metrics.behind.Set(0)
		k.cfg.Log.Info("Resumed evictions and sweeps: the database is not behind")
	}
}
