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

// ErrWentBack ends a process whose cluster was restored from a backup. Its caches hold
// objects that may never have been, and watches that wait for versions of the future.
var ErrWentBack = errors.New("the cluster went back to an earlier state; starting anew")

const (
	// lookEvery is the interval between two checks of the cluster's version.
	lookEvery = 10 * time.Second
	// askTimeout bounds one check.
	askTimeout = 10 * time.Second
	// mostSuspects bounds the objects to check; any one of a restored cluster is enough.
	mostSuspects = 100
)

// Watch detects that the cluster is restored to an earlier state, while the process leads or
// while no replica ran. It has two signs: the version of the cluster, which only rises; and an
// object with a lower version than its row, read from the API server after the row. The
// second sign also works when the cluster has passed its old version meanwhile, or was
// restored with its counter moved ahead, as etcd recommends.
type Watch struct {
	DB    *sql.DB
	Kinds *registry.Registry
	// Live reads from the API server each time, never from a cache.
	Live client.Reader
	// Namespaces that may be read; none means all.
	Namespaces []string
	Clock      clock.Clock
	Log        logr.Logger
	Metrics    *metrics.Metrics

	mu       sync.Mutex
	suspects map[suspect]bool
	hint     chan struct{}
}

type suspect struct{ kind, namespace, name string }

// Suspect requests a check of an object whose row seemed newer. It never blocks.
func (w *Watch) Suspect(kind, namespace, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.suspects == nil {
		w.suspects = map[suspect]bool{}
	}
	if len(w.suspects) < mostSuspects {
		w.suspects[suspect{kind, namespace, name}] = true
	}
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

// Run looks until ctx ends, from a position and an incarnation that were settled. When the cluster went
// back it raises the incarnation and returns ErrWentBack: the process must end and begin again.
func (w *Watch) Run(ctx context.Context, settled Cluster, current int64) error {
	w.mu.Lock()
	hints := w.hints()
	w.mu.Unlock()
	highest := settled.ResourceVersion
	sign := "" // stays until the incarnation could be raised
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-hints:
			if sign == "" {
				sign, err = w.objects(ctx, current)
			}
		case <-w.Clock.After(lookEvery):
			if sign == "" {
				sign, err = w.version(ctx, settled.UID, &highest)
			}
		}
		if sign != "" {
			w.Log.Error(ErrWentBack, "Raising the incarnation", "sign", sign, "was", current)
			if _, err = Raise(ctx, w.DB, settled.UID, current, w.Clock.Now()); err == nil {
				return ErrWentBack
			}
		}
		if err != nil && ctx.Err() == nil {
			w.Metrics.Errors.WithLabelValues("kubernetes", "incarnation").Inc()
			w.Log.V(1).Info("Did not learn whether the cluster went back", "reason", err.Error())
		}
	}
}

// version compares the cluster's version with the highest so far.
func (w *Watch) version(ctx context.Context, uid string, highest *int64) (sign string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	now, err := Position(ctx, w.Live, w.Kinds, w.Namespaces)
	switch {
	case err != nil:
		return "", err
	case now.UID != uid:
		return "", fmt.Errorf("namespace %s has uid %s, not %s", metav1.NamespaceSystem, now.UID, uid)
	case now.ResourceVersion < *highest:
		return fmt.Sprintf("resource version %d after %d", now.ResourceVersion, *highest), nil
	}
	*highest = now.ResourceVersion
	return "", nil
}

// objects checks the suspects until one of them proves a restore. It retries later those that it cannot read now.
func (w *Watch) objects(ctx context.Context, current int64) (sign string, err error) {
	w.mu.Lock()
	all := w.suspects
	w.suspects = nil
	w.mu.Unlock()
	for s := range all {
		one, lookErr := w.object(ctx, s, current)
		if one != "" {
			return one, nil
		}
		err = errors.Join(err, lookErr)
	}
	return "", err
}

// object compares a live object with its row. It reads the row first: its writer had
// observed that version by then, so a later answer of the same cluster is not older.
func (w *Watch) object(ctx context.Context, s suspect, current int64) (sign string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	kind, ok := w.Kinds.Lookup(s.kind)
	if !ok {
		return "", fmt.Errorf("kind %q is not registered", s.kind)
	}
	page, err := rows.Page(ctx, w.DB, kind, rows.Query{Namespaces: []string{s.namespace}, Names: []string{s.name}})
	if err != nil {
		return "", err
	}
	var live metav1.PartialObjectMetadata
	live.SetGroupVersionKind(kind.GVK())
	err = w.Live.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: s.name}, &live)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s %s/%s: %w", s.kind, s.namespace, s.name, err)
	}
	version, err := strconv.ParseInt(live.GetResourceVersion(), 10, 64)
	if err != nil {
		return "", fmt.Errorf("resource version of %s %s/%s: %w", s.kind, s.namespace, s.name, err)
	}
	for _, row := range page {
		if row.UID == string(live.GetUID()) && row.Incarnation == current && row.ResVersion > version {
			return fmt.Sprintf("%s %s/%s has version %d after %d", s.kind, s.namespace, s.name, version, row.ResVersion), nil
		}
	}
	return "", nil
}
