package incarnation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// ErrClusterRestored ends a process whose cluster or database was restored from a backup: its caches are
// invalid and its watches wait for versions that do not exist yet, or rows have a higher incarnation than its own.
var ErrClusterRestored = errors.New("cluster or database was restored to an earlier state, restarting")

const (
	// checkInterval is the interval between two checks of the cluster's version.
	checkInterval = 10 * time.Second
	// checkTimeout bounds one check.
	checkTimeout = 10 * time.Second
	// maxChecks bounds the objects to check; one object proves a restore.
	maxChecks = 100
)

// Watch detects a restore of the cluster to an earlier state, while the process leads or while
// no replica ran. It has two signs: a lower version of the cluster, which otherwise only
// rises; and an object with a lower version than its row, read from the API server after the
// row. The second sign also detects a cluster that has passed its old version meanwhile, or
// whose revision was increased by the restore, as etcd recommends. A row of a higher incarnation
// is such a sign too: the incarnation of its writer is missing in a restored database.
type Watch struct {
	DB    *sql.DB
	Kinds *registry.Registry
	// APIReader reads from the API server, without a cache.
	APIReader client.Reader
	// Namespaces that may be read; none means all.
	Namespaces []string
	Clock      clock.Clock
	Log        logr.Logger
	Metrics    *metrics.Metrics

	mu     sync.Mutex
	checks map[objectKey]bool
	hint   chan struct{}

	followMu sync.Mutex
	followed followed
}

type objectKey struct {
	kind string
	types.NamespacedName
	uid types.UID
}

// RequestCheck queues the check of an object whose row seemed newer. It never blocks.
func (w *Watch) RequestCheck(kind string, name types.NamespacedName, uid types.UID) {
	w.enqueue(objectKey{kind, name, uid})
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.hints() <- struct{}{}:
	default:
	}
}

// hints returns the channel that triggers Run. The caller holds the lock.
func (w *Watch) hints() chan struct{} {
	if w.hint == nil {
		w.hint = make(chan struct{}, 1)
	}
	return w.hint
}

// Run checks the cluster until ctx ends, from a resolved position and incarnation. After a restore
// it bumps the incarnation and returns ErrClusterRestored: the process must restart.
func (w *Watch) Run(ctx context.Context, resolved Cluster, current int64) error {
	w.mu.Lock()
	hints := w.hints()
	w.mu.Unlock()
	highest := resolved.ResourceVersion
	sign := "" // stays until the incarnation is bumped
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-hints:
			if sign == "" {
				sign, err = w.objects(ctx, current)
			}
		case <-w.Clock.After(checkInterval):
			if sign == "" {
				sign, err = w.version(ctx, resolved.UID, &highest)
			}
			if sign == "" {
				var failed error
				sign, failed = w.objects(ctx, current)
				err = errors.Join(err, failed)
			}
		}
		if sign != "" {
			w.Log.Error(ErrClusterRestored, "Bumping the incarnation", "sign", sign, "was", current)
			if _, err = Bump(ctx, w.DB, w.Kinds, resolved.UID, current, w.Clock.Now()); err == nil {
				return ErrClusterRestored
			}
		}
		if err != nil && ctx.Err() == nil {
			w.Metrics.Errors.WithLabelValues("kubernetes", "incarnation").Inc()
			w.Log.V(1).Info("Failed to check for a restore of the cluster", "reason", err.Error())
		}
	}
}

// version compares the cluster's version with the highest so far.
func (w *Watch) version(ctx context.Context, uid string, highest *int64) (sign string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	now, err := position(ctx, w.APIReader, w.Kinds, w.Namespaces)
	switch {
	case err != nil:
		return "", err
	case now.UID != uid:
		return "", fmt.Errorf("namespace %s has uid %s, want %s", metav1.NamespaceSystem, now.UID, uid)
	case now.ResourceVersion < *highest:
		return fmt.Sprintf("resource version %d after %d", now.ResourceVersion, *highest), nil
	}
	*highest = now.ResourceVersion
	return "", nil
}

// objects checks the queued objects until one of them proves a restore. A failed check stays queued.
func (w *Watch) objects(ctx context.Context, current int64) (sign string, err error) {
	w.mu.Lock()
	all := w.checks
	w.checks = nil
	w.mu.Unlock()
	for s := range all {
		one, failed := w.object(ctx, s, current)
		if one != "" {
			return one, nil
		}
		if failed != nil {
			w.enqueue(s)
			err = errors.Join(err, failed)
		}
	}
	return "", err
}

// enqueue queues the check of an object, unless too many are queued.
func (w *Watch) enqueue(key objectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.checks == nil {
		w.checks = map[objectKey]bool{}
	}
	if len(w.checks) < maxChecks {
		w.checks[key] = true
	}
}

// object compares a live object with its row. It reads the row first: its writer had observed
// that version by then, so a later read from the same cluster does not return an older one.
func (w *Watch) object(ctx context.Context, s objectKey, current int64) (sign string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	kind, ok := w.Kinds.Lookup(s.kind)
	if !ok {
		return "", fmt.Errorf("kind %q is not registered", s.kind)
	}
	page, err := rows.Page(ctx, w.DB, kind, rows.Query{UIDs: []string{string(s.uid)}})
	if err != nil {
		return "", err
	}
	var live metav1.PartialObjectMetadata
	live.SetGroupVersionKind(kind.GVK())
	err = w.APIReader.Get(ctx, s.NamespacedName, &live)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get %s %s: %w", s.kind, s.NamespacedName, err)
	}
	version, err := strconv.ParseInt(live.GetResourceVersion(), 10, 64)
	if err != nil {
		return "", fmt.Errorf("parse resource version of %s %s: %w", s.kind, s.NamespacedName, err)
	}
	for _, row := range page {
		switch {
		case row.UID != string(live.GetUID()):
		case row.Incarnation > current:
			return fmt.Sprintf("%s %s has a row of incarnation %d", s.kind, s.NamespacedName, row.Incarnation), nil
		case row.Incarnation == current && row.ResVersion > version:
			return fmt.Sprintf("%s %s has version %d after %d", s.kind, s.NamespacedName, version, row.ResVersion), nil
		}
	}
	return "", nil
}
