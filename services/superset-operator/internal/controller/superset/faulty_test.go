package superset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// errCrash is the error of a client whose process has crashed.
var errCrash = errors.New("the process crashed")

// mortality allows each process a number of writes; the process crashes at the next one. Reads still succeed, so that
// only writes decide the point of the crash.
type mortality struct {
	mu      sync.Mutex
	left    int
	dead    bool
	stage   string          // prefix of the names of writes
	written []string        // by all processes, in order
	fatal   map[string]bool // last writes of a process
}

func newMortality() *mortality { return &mortality{fatal: map[string]bool{}} }

// next starts a process that crashes after the given number of writes.
func (m *mortality) next(writes int) func(client.Client) client.Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.dead = writes, false
	return func(c client.Client) client.Client { return mortal{c, m} }
}

// begin sets the stage of the following writes.
func (m *mortality) begin(stage string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stage = stage + ": "
}

func (m *mortality) spend(what string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 || m.dead {
		if !m.dead && len(m.written) > 0 {
			m.fatal[m.written[len(m.written)-1]] = true
		}
		m.dead = true
		return errCrash
	}
	m.left--
	m.written = append(m.written, m.stage+what)
	return nil
}

// describe names a write; the name of a status write contains the lifecycle, so that each step of it is a different
// write.
func describe(verb string, obj any) string {
	if o, ok := obj.(client.Object); ok {
		return fmt.Sprintf("%s %T %s", verb, obj, o.GetName())
	}
	var parts struct {
		Kind     string
		Metadata struct{ Name string }
		Status   struct {
			Phase     string
			Lifecycle struct {
				Phase             string
				MaintenanceActive bool
				Migrate, Init     struct{ State string }
			}
		}
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err.Error()
	}
	s := parts.Status
	if s.Phase == "" {
		return fmt.Sprintf("%s %s %s", verb, parts.Kind, parts.Metadata.Name)
	}
	state := fmt.Sprintf("%s, migrate %s, init %s", s.Lifecycle.Phase, s.Lifecycle.Migrate.State, s.Lifecycle.Init.State)
	if s.Lifecycle.Phase == string(v1alpha1.LifecycleDraining) {
		// Later the value depends on which component is ready first.
		state += fmt.Sprintf(", page %v", s.Lifecycle.MaintenanceActive)
	}
	return fmt.Sprintf("%s %s %s: %s", verb, parts.Kind, parts.Metadata.Name, state)
}

type mortal struct {
	client.Client
	m *mortality
}

func (c mortal) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := c.m.spend(describe("create", obj)); err != nil {
		return err
	}
	return c.Client.Create(ctx, obj, opts...)
}

func (c mortal) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if err := c.m.spend(describe("update", obj)); err != nil {
		return err
	}
	return c.Client.Update(ctx, obj, opts...)
}

func (c mortal) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := c.m.spend(describe("patch", obj)); err != nil {
		return err
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

func (c mortal) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := c.m.spend(describe("apply", obj)); err != nil {
		return err
	}
	return c.Client.Apply(ctx, obj, opts...)
}

func (c mortal) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if err := c.m.spend(describe("delete", obj)); err != nil {
		return err
	}
	return c.Client.Delete(ctx, obj, opts...)
}

func (c mortal) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	if err := c.m.spend(describe("delete all of", obj)); err != nil {
		return err
	}
	return c.Client.DeleteAllOf(ctx, obj, opts...)
}

func (c mortal) Status() client.SubResourceWriter { return mortalStatus{c.Client.Status(), c.m} }

type mortalStatus struct {
	client.SubResourceWriter
	m *mortality
}

func (s mortalStatus) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	if err := s.m.spend(describe("apply status", obj)); err != nil {
		return err
	}
	return s.SubResourceWriter.Apply(ctx, obj, opts...)
}

func (s mortalStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := s.m.spend(describe("patch status", obj)); err != nil {
		return err
	}
	return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// rewound returns an old copy of a Superset while it has one, like a stale cache.
type rewound struct {
	client.Client
	old *atomic.Pointer[func(client.Object)]
}

func (r rewound) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := r.Client.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	if replace := r.old.Load(); replace != nil {
		(*replace)(obj)
	}
	return nil
}
