package superset_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

func TestStaleCacheStartsNoTask(t *testing.T) {
	t.Parallel()
	old := &atomic.Pointer[func(client.Object)]{}
	e := start(t, options{idle: true})
	sup := e.create(e.sample("development.yaml"))
	e.reconcileUntil(sup, nil, func(s *v1alpha1.Superset) error {
		if s.Status.Lifecycle == nil || s.Status.Lifecycle.Migrate.State != v1alpha1.TaskRunning {
			return errors.New("migrate does not run yet")
		}
		return nil
	})
	stale := sup.DeepCopy()
	e.reconcileUntil(sup, nil, settled)
	jobs := e.requests.matching(`^POST .*/jobs 201$`)

	// A new process whose stale cache shows migrate as running, although its Job is deleted.
	e.reconciler = e.process(func(c client.Client) client.Client { return staleClient{c, old} })
	makeStale := func(obj client.Object) {
		if s, ok := obj.(*v1alpha1.Superset); ok {
			stale.DeepCopyInto(s)
		}
	}
	old.Store(&makeStale)
	for range 3 {
		result, err := e.reconciler.Reconcile(t.Context(), request(sup))
		if err != nil || result.RequeueAfter == 0 {
			t.Fatalf("want a retry, got %+v, %v", result, err)
		}
	}
	if n := e.requests.matching(`^POST .*/jobs 201$`); n != jobs {
		t.Fatalf("%d more Jobs were created from a stale decision", n-jobs)
	}
	old.Store(nil)
	e.reconcileUntil(sup, nil, settled)
	if n := e.requests.matching(`^POST .*/jobs 201$`); n != jobs {
		t.Errorf("%d more Jobs were created afterwards", n-jobs)
	}
}

func TestReconcileKeepsConcurrentEdit(t *testing.T) {
	t.Parallel()
	e := start(t, options{idle: true})
	sup := e.create(e.sample("development.yaml"))
	e.reconcileUntil(sup, nil, settled)
	edited := &atomic.Bool{}
	beforeStatus := func(c client.Client) client.Client {
		return hookClient{Client: c, beforeStatus: func() {
			if edited.CompareAndSwap(false, true) {
				e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Suspend = new(true) })
			}
		}}
	}
	e.reconciler = e.process(beforeStatus)
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Image.Tag = "6.0.1" })
	jobs := e.requests.matching(`^POST .*/jobs 201$`)
	e.reconcileUntil(sup, nil, phase(v1alpha1.PhaseSuspended))
	if !edited.Load() {
		t.Fatal("the edit was too late")
	}
	if n := e.requests.matching(`^POST .*/jobs 201$`); n != jobs {
		t.Errorf("a task started although the Superset was suspended meanwhile")
	}
}

// TestStopKeepsReplacedDeployment stops a Superset during a task. Its Deployment is deleted, or replaced by a foreign one, just
// before the operator scales it down.
func TestStopKeepsReplacedDeployment(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]bool{"deleted": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, options{idle: true})
			sup := e.create(minimal()(e))
			e.reconcileUntil(sup, nil, settled)
			e.edit(sup, func(s *v1alpha1.Superset) { tasks(finishAfter("5m"))(s); image("6.1.0")(s) })
			e.reconcileUntil(sup, nil, task("preflight", v1alpha1.TaskRunning, 1))
			d, patched := get(e, "lab-web-server", &appsv1.Deployment{}), &atomic.Bool{}
			foreign := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name},
				Spec:       appsv1.DeploymentSpec{Selector: d.Spec.Selector, Template: d.Spec.Template, Replicas: new(int32(2))},
			}
			e.reconciler = e.process(func(c client.Client) client.Client {
				return hookClient{Client: c, beforePatch: func(obj client.Object) {
					if obj.GetName() != d.Name || !patched.CompareAndSwap(false, true) {
						return
					}
					if err := e.client.Delete(t.Context(), d, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
						t.Error(err)
					}
					if replace {
						if err := e.client.Create(t.Context(), foreign); err != nil {
							t.Error(err)
						}
					}
				}}
			})
			e.edit(sup, annotate(v1alpha1.AnnotationCommand, v1alpha1.CommandStopped))
			expect.Eventually(t, timeout, func() error {
				if _, err := e.reconciler.Reconcile(t.Context(), request(sup)); err != nil {
					t.Errorf("reconcile: %v", err)
				}
				if !patched.Load() {
					return errors.New("not scaled down yet")
				}
				return nil
			})
			if replace {
				if got := get(e, d.Name, &appsv1.Deployment{}); *got.Spec.Replicas != 2 {
					t.Errorf("the foreign Deployment was scaled to %d", *got.Spec.Replicas)
				}
			}
		})
	}
}

// hookClient runs functions just before status writes and patches; nil for none.
type hookClient struct {
	client.Client
	beforeStatus func()
	beforePatch  func(client.Object)
}

func (injector hookClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if injector.beforePatch != nil {
		injector.beforePatch(obj)
	}
	return injector.Client.Patch(ctx, obj, patch, opts...)
}

func (injector hookClient) Status() client.SubResourceWriter {
	if injector.beforeStatus != nil {
		injector.beforeStatus()
	}
	return injector.Client.Status()
}
