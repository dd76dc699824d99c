package standalone

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// StaleAfter is how long the Lease may go without a renewal before operators write themselves.
const StaleAfter = 30 * time.Second

// Gate tells whether this process has to write the conditions.
type Gate struct{}

// GateOption changes a [Gate].
type GateOption func(*Gate)

// NewGate returns a Gate on the Lease in the given namespace and adds it to mgr,
// which runs it on every replica, leader or not.
func NewGate(mgr manager.Manager, namespace string, opts ...GateOption) (*Gate, error) {
	return nil, errors.ErrUnsupported
}

// MustWrite says whether this process has to write the conditions. It is false
// until the Lease has been looked for once.
func (g *Gate) MustWrite() bool { return false }

// Source enqueues every object of list's kind, from the manager's cache, each
// time the answer of [Gate.MustWrite] changes. list is a template: an empty list
// of the kind, for example &v1alpha1.SupersetList{}.
func (g *Gate) Source(list client.ObjectList) source.Source {
	return source.Func(nil)
}

// Start watches the Lease until ctx ends.
func (g *Gate) Start(ctx context.Context) error { return nil }

// NeedLeaderElection is false: every replica knows the answer, so that a new leader starts with it.
func (g *Gate) NeedLeaderElection() bool { return false }
