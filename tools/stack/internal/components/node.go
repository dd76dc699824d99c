package components

import (
	"context"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/node"
)

// RealNode is a control plane with one real node. It replaces ControlPlane.
type RealNode struct {
	env  *Env
	Node *node.Node
}

// NewRealNode returns the component.
func NewRealNode(env *Env) (*RealNode, error) {
	n, err := node.New(env.Checkout, node.Config{Tools: env.Tools, Kubeconfig: env.Kubeconfig(), Logf: env.Logf})
	return &RealNode{env: env, Node: n}, err
}

// Name returns the name of the component.
func (r *RealNode) Name() string { return "node" }

// Ensure starts the node unless it runs with the current configuration, and returns when the API server answers.
func (r *RealNode) Ensure(ctx context.Context) (Outcome, error) {
	restarted := exists(r.env.Kubeconfig())
	started, err := r.Node.Ensure(ctx, auditPolicy)
	switch {
	case !started:
		return Reused, err
	case restarted:
		return Restarted, err
	default:
		return Started, err
	}
}

// Stop stops the node and keeps its data.
func (r *RealNode) Stop(ctx context.Context) error { return r.Node.Stop(ctx) }

// Kill kills the node.
func (r *RealNode) Kill(ctx context.Context) error { return r.Node.Kill(ctx) }

// Logs returns the logs of the programs of the node.
func (r *RealNode) Logs() map[string]string {
	logs := map[string]string{auditLog: r.Node.AuditLog()}
	for _, name := range r.Node.Names() {
		logs[name] = r.env.Checkout.Log(name)
	}
	return logs
}

// Status returns the status of each program.
func (r *RealNode) Status(ctx context.Context) []Status {
	running, err := r.Node.Running()
	if err != nil {
		return []Status{{Name: r.Name(), Health: err.Error()}}
	}
	var all []Status
	for _, name := range r.Node.Names() {
		s := Status{Name: name, PID: running[name], Health: OK}
		switch {
		case s.PID == 0:
			s.Health = "not running"
		case name == apiServer:
			s.Address = r.Node.Server()
			if err := r.Node.APIReady(ctx); err != nil {
				s.Health = err.Error()
			}
		}
		all = append(all, s)
	}
	return all
}
