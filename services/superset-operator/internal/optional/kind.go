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

// CRD identifies a kind and its CRD.
type CRD struct {
	Kind schema.GroupVersionKind
	// Resource is the plural in lower case, for example "httproutes".
	Resource string
}

// Name returns the name of the CRD.
func (d CRD) Name() string { return d.Resource + "." + d.Kind.Group }

// Options configure the watch of a kind and the handling of its objects.
type Options struct {
	// Namespaces to watch; none means all.
	Namespaces []string
	// Selector limits the cache to the operator's objects.
	Selector labels.Selector
	// Indexes are the field indexes of the cache.
	Indexes map[string]client.IndexerFunc
	// Handler maps a change of an object to requests, if it passes the Predicates.
	Handler    handler.EventHandler
	Predicates []predicate.Predicate
	// Requests returns a request for each owner that uses the kind; they are enqueued when it is added or removed.
	Requests func(context.Context) []reconcile.Request
	// Clock defaults to the real clock.
	Clock clock.WithTicker
}

// State describes whether the API server serves a kind.
type State string

// States of a kind.
const (
	// Unknown means that the state is not determined yet, or that discovery or the list of the objects failed.
	Unknown State = "Unknown"
	// Absent means that the cluster does not have the CRD, or not in this version.
	Absent State = "Absent"
	// Served means that objects can be read and written.
	Served State = "Served"
)

// Kind watches one CRD. A nil Kind is always Unknown.
type Kind struct {
	crd       CRD
	options   Options
	manager   manager.Manager
	crds      metadata.Interface
	discovery discovery.DiscoveryInterfaceWithContext
	log       logr.Logger
	ready     chan struct{} // closed once WaitForSync may return
	once      sync.Once     // closes ready
	changed   chan struct{} // signals that the state may have changed

	mu     sync.Mutex
	state  State
	reader client.Reader
	err    error // why the state is Unknown; nil if it is not determined yet
}

var _ source.SyncingSource = &Kind{}

// New returns a Kind, which must be added to a controller as a source. It needs the
// permission to get, list and watch the one CRD.
func New(mgr manager.Manager, d CRD, o Options) (*Kind, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	crds, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create metadata client: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create discovery client: %w", err)
	}
	return &Kind{
		crd: d, options: o, manager: mgr, crds: crds, discovery: discoveryClient,
		log:   mgr.GetLogger().WithName("optional").WithValues("crd", d.Name()),
		ready: make(chan struct{}), changed: make(chan struct{}, 1), state: Unknown,
	}, nil
}

// CRD returns the CRD of the Kind.
func (k *Kind) CRD() CRD { return k.crd }

// State returns whether the kind is served and, if so, a reader of the cache of its objects.
func (k *Kind) State() (State, client.Reader) {
	if k == nil {
		return Unknown, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state, k.reader
}

// Err returns the last error of discovery or of the watch while the state is Unknown; nil if it is not determined yet.
func (k *Kind) Err() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// IsNotServed reports whether a request failed because the kind is not, or no longer, served. Callers need not retry:
// the Kind detects this itself and enqueues the affected owners.
func IsNotServed(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// set stores the state and reports whether it changed.
func (k *Kind) set(state State, reader client.Reader) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.state
	k.state, k.reader, k.err = state, reader, nil
	k.setReady()
	return before != state
}

// fail makes a kind that is not served Unknown, and reports whether this is its first error. A kind that was served stays
// readable in its cache.
func (k *Kind) fail(err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.setReady()
	if k.state == Served {
		return false
	}
	first := k.err == nil
	k.state, k.err = Unknown, err
	return first
}

func (k *Kind) setReady() { k.once.Do(func() { close(k.ready) }) }

func (k *Kind) notify() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}
