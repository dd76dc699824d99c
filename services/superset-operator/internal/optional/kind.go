package optional

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Definition names a kind and its CRD.
type Definition struct {
	Kind schema.GroupVersionKind
	// Resource is the plural in lower case, for example "httproutes".
	Resource string
}

// Name returns the name of the CRD.
func (d Definition) Name() string { return d.Resource + "." + d.Kind.Group }

// Options configure the watch of a kind and the handling of its objects.
type Options struct {
	// Namespaces to watch; none means all.
	Namespaces []string
	// Selector limits the cache to our objects.
	Selector labels.Selector
	// Indexes are the field indexes of the cache.
	Indexes map[string]client.IndexerFunc
	// Handler maps a change of an object to requests, if it passes the Predicates.
	Handler    handler.EventHandler
	Predicates []predicate.Predicate
	// Wake returns the requests of all owners that use the kind, for when it is added or removed.
	Wake func(context.Context) []reconcile.Request
	// Clock is the real one when nil.
	Clock clock.WithTicker
}

// State is whether the API server serves a kind.
type State string

// States of a kind.
const (
	// Unknown: not determined yet, or its objects cannot be read, so nothing may be concluded.
	Unknown State = "Unknown"
	// Absent: the cluster has no such CRD, or not in this version.
	Absent State = "Absent"
	// Served: objects can be read and written.
	Served State = "Served"
)

// Kind watches one CRD. A nil Kind is always Unknown.
type Kind struct {
	definition  Definition
	options     Options
	manager     manager.Manager
	definitions metadata.Interface
	discovery   discovery.DiscoveryInterfaceWithContext
	log         logr.Logger
	known       chan struct{} // closed when the state no longer has to be awaited
	settled     sync.Once     // closes known
	changed     chan struct{} // there may be something new

	mu     sync.Mutex
	state  State
	reader client.Reader
}

var _ source.SyncingSource = &Kind{}

// New returns a Kind, which must be added to a controller as a source. It needs the
// permission to get, list and watch the one CRD.
func New(mgr manager.Manager, d Definition, o Options) (*Kind, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	definitions, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create a client for definitions: %w", err)
	}
	served, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create a discovery client: %w", err)
	}
	return &Kind{
		definition: d, options: o, manager: mgr, definitions: definitions, discovery: served,
		log:   mgr.GetLogger().WithName("optional").WithValues("definition", d.Name()),
		known: make(chan struct{}), changed: make(chan struct{}, 1), state: Unknown,
	}, nil
}

// Definition returns the definition of the Kind.
func (k *Kind) Definition() Definition { return k.definition }

// Look returns whether the kind is served and, if so, a reader of the cache of its objects.
func (k *Kind) Look() (State, client.Reader) {
	if k == nil {
		return Unknown, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state, k.reader
}

// Gone reports whether a request failed because the kind is not served, or no longer:
// the Kind detects this itself and enqueues the owners concerned.
func Gone(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// set reports whether the state changed.
func (k *Kind) set(state State, reader client.Reader) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.state
	k.state, k.reader = state, reader
	k.settle()
	return before != state
}

func (k *Kind) settle() { k.settled.Do(func() { close(k.known) }) }

func (k *Kind) nudge() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}
