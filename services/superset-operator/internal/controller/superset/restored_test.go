package superset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/coalesce"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// restoredCluster is a cluster that was restored from a backup: the cache shows an older version of a Superset than the
// operator wrote, and status writes conflict.
type restoredCluster struct {
	mu       sync.Mutex
	cached   *v1alpha1.Superset // nil: the cache is current
	rejects  writer             // none before the restore
	versions []string           // resource versions of the status writes since
}

// writer is the part of the operator that writes to a status.
type writer int

const (
	lifecycleWriter writer = iota + 1
	conditionsWriter
)

func (r *restoredCluster) wrap(c client.Client) client.Client { return restoredClient{c, r} }

type restoredClient struct {
	client.Client
	cluster *restoredCluster
}

func (c restoredClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	c.cluster.mu.Lock()
	defer c.cluster.mu.Unlock()
	if sup, ok := obj.(*v1alpha1.Superset); ok && c.cluster.cached != nil {
		c.cluster.cached.DeepCopyInto(sup)
		return nil
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

func (c restoredClient) Status() client.SubResourceWriter {
	return restoredWriter{c.Client.Status(), c.cluster}
}

type restoredWriter struct {
	client.SubResourceWriter
	cluster *restoredCluster
}

func (w restoredWriter) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	if w.cluster.rejects == 0 {
		return w.SubResourceWriter.Apply(ctx, obj, opts...)
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	var written v1alpha1.Superset
	if err := json.Unmarshal(raw, &written); err != nil {
		return err
	}
	w.cluster.versions = append(w.cluster.versions, written.ResourceVersion)
	by := conditionsWriter
	if written.Status.Phase != "" {
		by = lifecycleWriter
	}
	if w.cluster.rejects != by {
		return w.SubResourceWriter.Apply(ctx, obj, opts...)
	}
	return apierrors.NewConflict(schema.GroupResource{Resource: "supersets"}, written.Name, errors.New("the object has been modified"))
}

// TestConflictDropsRememberedVersion checks that the operator does not write the version forever that it remembers: the
// API server rejects it after the restore of an older one.
func TestConflictDropsRememberedVersion(t *testing.T) {
	t.Parallel()
	for name, rejects := range map[string]writer{"status": lifecycleWriter, "conditions": conditionsWriter} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkConflictDropsRememberedVersion(t, rejects)
		})
	}
}

func checkConflictDropsRememberedVersion(t *testing.T, rejects writer) {
	t.Helper()
	restored := &restoredCluster{}
	clk := clocktesting.NewFakePassiveClock(time.Now()) // stopped, since writes are remembered for a limited time
	e := start(t, options{idle: true, wrap: restored.wrap, clock: clk})
	sup := e.create(e.sample("development.yaml", func(s *v1alpha1.Superset) {
		s.Spec.Valkey = &v1alpha1.ValkeySpec{Host: "valkey"}
		s.Spec.CeleryWorker = &v1alpha1.CeleryWorkerSpec{}
	}))
	e.reconcileUntil(sup, nil, settled)
	e.waitIdle(sup)
	e.reconcileUntil(sup, nil, settled)
	backup := sup.DeepCopy()
	set := func(change func()) {
		restored.mu.Lock()
		defer restored.mu.Unlock()
		change()
	}
	reconcile := func(check func() error) {
		t.Helper()
		expect.Eventually(t, timeout, func() error {
			_, err := e.reconciler.Reconcile(t.Context(), request(sup))
			if failed := check(); failed != nil {
				return errors.Join(err, failed)
			}
			return nil // although the foreign Deployments are errors
		})
	}
	set(func() { restored.cached = backup })
	e.replaceDeployment("celery-worker", sup)
	reconcile(func() error {
		var live v1alpha1.Superset
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(sup), &live); err != nil {
			return err
		}
		if live.ResourceVersion == backup.ResourceVersion {
			return errors.New("the status is unchanged")
		}
		return nil
	})
	set(func() { restored.rejects = rejects })
	e.replaceDeployment("web-server", sup)
	clk.SetTime(clk.Now().Add(coalesce.Interval)) // details are written once per interval
	reconcile(func() error {
		restored.mu.Lock()
		defer restored.mu.Unlock()
		if !slices.Contains(restored.versions, backup.ResourceVersion) {
			return fmt.Errorf("writes of versions %v, want one of %s", restored.versions, backup.ResourceVersion)
		}
		return nil
	})
}

// replaceDeployment replaces the Deployment of a component by a foreign one without pods, which the operator reports for as
// long as it exists.
func (e *env) replaceDeployment(component string, sup *v1alpha1.Superset) {
	e.t.Helper()
	labels := map[string]string{"app": "foreign"}
	key := client.ObjectKey{Namespace: e.namespace, Name: names.Component(sup.Name, component)}
	old := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := e.client.Delete(e.t.Context(), old, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		e.t.Fatal(err)
	}
	foreign := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
			},
		},
	}
	if err := e.client.Create(e.t.Context(), foreign); err != nil {
		e.t.Fatal(err)
	}
}
