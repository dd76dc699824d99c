package readmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Errors of reads.
var (
	// ErrNotReady reports that the caches have not synced yet.
	ErrNotReady = errors.New("the objects are still being read")
	// ErrNotFound reports that the object does not exist.
	ErrNotFound = errors.New("object does not exist")
	// ErrBusUnavailable reports that the bus does not respond.
	ErrBusUnavailable = errors.New("the bus does not respond")
)

// Bus is the part of bus.Conn of libs/bus that reads use.
type Bus interface {
	JetStream() jetstream.JetStream
	Connected() bool
}

// Config holds the dependencies of a View. All fields are required.
type Config struct {
	Cache   cache.Cache
	Bus     Bus
	Kinds   registry.Set
	Cluster string
	Clock   clock.WithTicker
	Log     logr.Logger
}

// View lists objects from memory, and reads their details from the bus.
type View struct {
	cfg     Config
	objects *objects
	entries *entries
}

// NewView returns a view without data before [View.Start].
func NewView(cfg Config) *View {
	return &View{
		cfg: cfg, objects: newObjects(cfg.Cache, cfg.Cluster, cfg.Kinds, cfg.Clock), entries: newEntries(cfg.Cluster, cfg.Clock),
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica reads.
func (v *View) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it reads cluster and bus until ctx ends.
func (v *View) Start(ctx context.Context) error {
	g, ctx := errgroup.WithContext(logr.NewContext(ctx, v.cfg.Log))
	g.Go(func() error { return v.objects.start(ctx) })
	g.Go(func() error { return v.entries.start(ctx, v.cfg.Bus.JetStream()) })
	return g.Wait()
}

// Filter selects objects and events; an empty field matches all.
type Filter struct {
	Namespace string
	Kind      contract.Kind
	Name      string
	// Conditions must all match; only lists use them.
	Conditions []ConditionFilter
}

// ConditionFilter matches a condition with a status, or with any if Status is empty.
type ConditionFilter struct{ Type, Status string }

// matches compares kind, namespace and name only.
func (f Filter) matches(ref contract.Ref) bool {
	return (f.Namespace == "" || f.Namespace == ref.Namespace) &&
		(f.Kind == "" || f.Kind == ref.Kind) &&
		(f.Name == "" || f.Name == ref.Name)
}

func (f Filter) holds(list []contract.Condition) bool {
	for _, want := range f.Conditions {
		if !slices.ContainsFunc(list, func(c contract.Condition) bool {
			return c.Type == want.Type && (want.Status == "" || c.Status == want.Status)
		}) {
			return false
		}
	}
	return true
}

// List returns the objects that match the filter, ordered by namespace, kind and name,
// or [ErrNotReady].
func (v *View) List(f Filter) ([]statusapi.Resource, error) {
	if !v.objects.ready() {
		return nil, ErrNotReady
	}
	var out []statusapi.Resource
	v.objects.mu.RLock()
	for ref, r := range v.objects.items {
		if f.matches(ref) && f.holds(r.Conditions) {
			out = append(out, r.Resource)
		}
	}
	v.objects.mu.RUnlock()
	for i := range out {
		v.complete(&out[i])
	}
	slices.SortFunc(out, Compare)
	return out, nil
}

// Compare orders resources as [View.List] does.
func Compare(a, b statusapi.Resource) int {
	return cmp.Or(
		strings.Compare(a.Object.Namespace, b.Object.Namespace),
		strings.Compare(string(a.Kind), string(b.Kind)),
		strings.Compare(a.Object.Name, b.Object.Name),
	)
}

// Detail returns one object in full, with at most the given number of history events. It
// returns [ErrNotFound] or [ErrNotReady]; an unavailable bus is reported in the response.
func (v *View) Detail(ctx context.Context, namespace string, token contract.Kind, name string, events int) (statusapi.ResourceDetail, error) {
	kind, ok := v.cfg.Kinds.Lookup(token)
	if !ok {
		return statusapi.ResourceDetail{}, ErrNotFound
	}
	if !v.objects.ready() {
		return statusapi.ResourceDetail{}, ErrNotReady
	}
	ref := contract.Ref{Cluster: v.cfg.Cluster, Namespace: namespace, Kind: token, Name: name}
	v.objects.mu.RLock()
	r, ok := v.objects.items[ref]
	v.objects.mu.RUnlock()
	if !ok {
		return statusapi.ResourceDetail{}, ErrNotFound
	}
	d := statusapi.ResourceDetail{Resource: r.Resource, History: []statusapi.HistoryEvent{}}
	d.Provenance = v.complete(&d.Resource)
	if err := v.fetch(ctx, kind, ref, r.created, events, &d); err != nil {
		d.Incomplete = fmt.Sprintf("observation and history may be missing: %s", reason(err))
	}
	return d, nil
}

// complete adds the data of the entry, and returns its provenance.
func (v *View) complete(r *statusapi.Resource) *contract.Provenance {
	ref := contract.Ref{Cluster: r.Cluster, Namespace: r.Object.Namespace, Kind: r.Kind, Name: r.Object.Name}
	s, ok := v.entries.of(ref, r.Object.UID)
	if !ok {
		return nil
	}
	r.DeployedVersion, r.UpdatedAt = s.deployedVersion, &s.updatedAt
	return s.provenance
}

// reason hides internal errors of a bus server from callers.
func reason(err error) string {
	if errors.Is(err, errUndecodable) {
		return errUndecodable.Error()
	}
	return ErrBusUnavailable.Error()
}
