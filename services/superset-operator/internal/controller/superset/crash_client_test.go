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

// crashInjector allows each process a number of writes; the process crashes at the next one. Reads still succeed, so
// that only writes decide the point of the crash.
type crashInjector struct {
	mu          sync.Mutex
	remaining   int
	crashed     bool
	stage       string          // prefix of the names of writes
	written     []string        // by all processes, in order
	crashPoints map[string]bool // last writes of a process
}

func newCrashInjector() *crashInjector { return &crashInjector{crashPoints: map[string]bool{}} }

// next starts a process that crashes after the given number of writes.
func (i *crashInjector) next(writes int) func(client.Client) client.Client {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.remaining, i.crashed = writes, false
	return func(c client.Client) client.Client { return crashClient{c, i} }
}

// setStage sets the stage of the following writes.
func (i *crashInjector) setStage(stage string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stage = stage + ": "
}

func (i *crashInjector) checkWrite(name string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.remaining == 0 || i.crashed {
		if !i.crashed && len(i.written) > 0 {
			i.crashPoints[i.written[len(i.written)-1]] = true
		}
		i.crashed = true
		return errCrash
	}
	i.remaining--
	i.written = append(i.written, i.stage+name)
	return nil
}

// describe names a write; the name of a status write contains the lifecycle, so that each step of it is a different
// write.
func describe(verb string, obj any) string {
	if o, ok := obj.(client.Object); ok {
		return fmt.Sprintf("%s %T %s", verb, obj, o.GetName())
	}
	var fields struct {
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
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err.Error()
	}
	s := fields.Status
	if s.Phase == "" {
		return fmt.Sprintf("%s %s %s", verb, fields.Kind, fields.Metadata.Name)
	}
	state := fmt.Sprintf("%s, migrate %s, init %s", s.Lifecycle.Phase, s.Lifecycle.Migrate.State, s.Lifecycle.Init.State)
	if s.Lifecycle.Phase == string(v1alpha1.LifecycleDraining) {
		// Later the value depends on which component is ready first.
		state += fmt.Sprintf(", page %v", s.Lifecycle.MaintenanceActive)
	}
	return fmt.Sprintf("%s %s %s: %s", verb, fields.Kind, fields.Metadata.Name, state)
}

type crashClient struct {
	client.Client
	i *crashInjector
}

func (c crashClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := c.i.checkWrite(describe("create", obj)); err != nil {
		return err
	}
	return c.Client.Create(ctx, obj, opts...)
}

func (c crashClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if err := c.i.checkWrite(describe("update", obj)); err != nil {
		return err
	}
	return c.Client.Update(ctx, obj, opts...)
}

func (c crashClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := c.i.checkWrite(describe("patch", obj)); err != nil {
		return err
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

func (c crashClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := c.i.checkWrite(describe("apply", obj)); err != nil {
		return err
	}
	return c.Client.Apply(ctx, obj, opts...)
}

func (c crashClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if err := c.i.checkWrite(describe("delete", obj)); err != nil {
		return err
	}
	return c.Client.Delete(ctx, obj, opts...)
}

func (c crashClient) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	if err := c.i.checkWrite(describe("delete all of", obj)); err != nil {
		return err
	}
	return c.Client.DeleteAllOf(ctx, obj, opts...)
}

func (c crashClient) Status() client.SubResourceWriter {
	return crashStatusWriter{c.Client.Status(), c.i}
}

type crashStatusWriter struct {
	client.SubResourceWriter
	i *crashInjector
}

func (s crashStatusWriter) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	if err := s.i.checkWrite(describe("apply status", obj)); err != nil {
		return err
	}
	return s.SubResourceWriter.Apply(ctx, obj, opts...)
}

func (s crashStatusWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := s.i.checkWrite(describe("patch status", obj)); err != nil {
		return err
	}
	return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// staleClient returns an old copy of a Superset while it has one, like a stale cache.
type staleClient struct {
	client.Client
	old *atomic.Pointer[func(client.Object)]
}

func (r staleClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := r.Client.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	if replace := r.old.Load(); replace != nil {
		(*replace)(obj)
	}
	return nil
}
