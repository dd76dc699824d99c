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

// Config holds the settings of a Keeper.
type Config struct {
	DB      *sql.DB
	Cluster *Cluster
	Clock   clock.WithTicker
	Log     logr.Logger
	// Events receives a Warning event, on the ConfigMap, when the database is behind. Nil disables it.
	Events events.EventRecorder
	// Registerer takes the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	// Ready is closed once the schema is current.
	Ready <-chan struct{}
}

// Keeper compares and increments the two numbers. The leader runs it; it is a
// manager.Runnable. It is safe for concurrent use.
type Keeper struct {
	cfg     Config
	figures *figures

	// one guards the cluster's copy: one request at a time.
	one sync.Mutex

	mu      sync.Mutex
	highest int64 // of the cluster, as far as this process has seen
	checked bool  // both numbers were compared once
	behind  error // the last comparison
	missing string
	next    *round
	running bool
}

// round is one increment of the number, for all evictions that wait.
type round struct {
	done chan struct{}
	err  error
}

const (
	// lookEvery is the interval between two comparisons.
	lookEvery = 10 * time.Second
	// timeout bounds one comparison, and one increment.
	timeout = 10 * time.Second
)

// New returns a keeper. [Keeper.Start] runs it.
func New(cfg Config) (*Keeper, error) {
	f, err := newFigures(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	return &Keeper{cfg: cfg, figures: f}, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (k *Keeper) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. It compares the numbers until ctx ends, so that the alarm
// does not wait for an eviction, and returns once the database is accepted.
func (k *Keeper) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-k.cfg.Ready:
	}
	for {
		if err := k.Check(ctx); err != nil && !errors.Is(err, ErrBehind) && ctx.Err() == nil {
			k.cfg.Log.V(1).Info("Failed to compare the checkpoints", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.cfg.Clock.After(lookEvery):
		}
	}
}

// Check compares the current numbers. The error is ErrBehind, or the failure to read them.
func (k *Keeper) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// The database is read last: it grows first.
	cluster, err := k.read(ctx)
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.highest = max(k.highest, cluster)
	least := k.highest
	k.mu.Unlock()
	database, err := Stored(ctx, k.cfg.DB)
	if err != nil {
		return err
	}
	err = compare(database, least)
	k.say(err)
	return err
}

// read returns the cluster's number, or 0 without the permission to read it.
func (k *Keeper) read(ctx context.Context) (int64, error) {
	k.one.Lock()
	defer k.one.Unlock()
	number, err := k.cfg.Cluster.Read(ctx)
	return number, k.permitted(err)
}

// Behind compares the current database with the last observed number of the cluster,
// which costs no request to the API server.
func (k *Keeper) Behind(ctx context.Context) error {
	k.mu.Lock()
	checked, least := k.checked, k.highest
	k.mu.Unlock()
	if !checked {
		return k.Check(ctx)
	}
	database, err := Stored(ctx, k.cfg.DB)
	if err != nil {
		return errors.Join(storage.ErrNotWritten, err)
	}
	err = compare(database, least)
	k.say(err)
	return err
}

// Advance increments both numbers, after an eviction was committed and before its object
// is deleted. Concurrent callers share one increment that begins after their calls.
func (k *Keeper) Advance(ctx context.Context) error {
	k.mu.Lock()
	r := k.next
	if r == nil {
		r = &round{done: make(chan struct{})}
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

func (k *Keeper) rounds(ctx context.Context) {
	for {
		k.mu.Lock()
		r := k.next
		k.next, k.running = nil, r != nil
		k.mu.Unlock()
		if r == nil {
			return
		}
		if r.err = k.advance(ctx); r.err != nil && !errors.Is(r.err, ErrBehind) {
			k.cfg.Log.Error(r.err, "Failed to advance the checkpoint, evictions wait")
			r.err = errors.Join(storage.ErrNotWritten, r.err)
		}
		close(r.done)
	}
}

func (k *Keeper) advance(ctx context.Context) error {
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
	least := k.highest
	k.mu.Unlock()
	number, err := advance(ctx, k.cfg.DB, least)
	if errors.Is(err, ErrBehind) {
		k.say(err)
	}
	if err != nil {
		return err
	}
	k.one.Lock()
	err = k.permitted(k.cfg.Cluster.Raise(ctx, number))
	k.one.Unlock()
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.highest = max(k.highest, number)
	k.mu.Unlock()
	return nil
}

// permitted drops the error of a missing permission and logs once what is missing: an
// ingester that was upgraded with an old Role continues as before.
func (k *Keeper) permitted(err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil:
		k.missing = ""
		k.figures.unprotected.Set(0)
		return nil
	case !apierrors.IsForbidden(err):
		return err
	}
	k.figures.unprotected.Set(1)
	if k.missing == "" {
		k.cfg.Log.Info("An older database cannot be detected: a permission is missing, see config/rbac/role.yaml", "reason", err.Error())
	}
	k.missing = err.Error()
	return nil
}

// say records a comparison, and logs and emits changes of its result.
func (k *Keeper) say(err error) {
	k.mu.Lock()
	was := k.behind
	k.behind, k.checked = err, true
	k.mu.Unlock()
	switch {
	case err != nil && was == nil:
		k.figures.behind.Set(1)
		k.cfg.Log.Error(err, "Stopped evicting and sweeping")
		if k.cfg.Events != nil {
			m := &corev1.ConfigMap{}
			m.Namespace, m.Name = k.cfg.Cluster.Namespace, Name
			k.cfg.Events.Eventf(m, nil, corev1.EventTypeWarning, "DatabaseBehind", "Compare", "%s", fmt.Sprint(err))
		}
	case err == nil && was != nil:
		k.figures.behind.Set(0)
		k.cfg.Log.Info("The database is not behind any more, evicting and sweeping again")
	}
}
