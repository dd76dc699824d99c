package integration

import (
	"context"
	"testing"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/class"
)

// staleClassClient is a stale cache: it lacks the latest engines and returns an old version of a class.
type staleClassClient struct {
	client.Client
	class *v1alpha1.FireboltEngineClass
}

func (b staleClassClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if c, ok := into.(*v1alpha1.FireboltEngineClass); ok && b.class != nil {
		b.class.DeepCopyInto(c)
		return nil
	}
	return b.Client.Get(ctx, key, into, opts...)
}

func (b staleClassClient) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return nil
}

// reconcileStale runs one reconcile of a class controller with a stale cache.
func (s *testEnv) reconcileStale(c *v1alpha1.FireboltEngineClass, cached *v1alpha1.FireboltEngineClass) ctrl.Result {
	s.t.Helper()
	result, err := class.New(class.Config{
		Client: staleClassClient{s.api, cached}, APIReader: s.api, Recorder: events.NewFakeRecorder(10), Clock: clock.RealClock{},
	}).Reconcile(s.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)})
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

// An engine that the cache does not have yet also holds its class.
func TestClassDeletionUsesAPIReader(t *testing.T) {
	t.Parallel()
	s := &testEnv{operator: &operator{t: t, namespace: cluster.Get(t).Namespace(t)}, api: apiServer(t)}
	c := classOf("c")
	s.create(c)
	s.reconcileStale(c, nil)
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
	a := boundEngine("a", "c")
	s.create(a)
	s.remove(c)
	s.reconcileStale(c, nil)
	s.waitForReason(c, v1alpha1.ReasonDeletionBlocked, 1)
	s.remove(a)
	s.reconcileStale(c, nil)
	expect.Deleted(t, s.api, c)
}

// A decision from an old version of the class is never written; it is made again, without an error.
func TestStaleClassIsReconciledAgain(t *testing.T) {
	t.Parallel()
	s := &testEnv{operator: &operator{t: t, namespace: cluster.Get(t).Namespace(t)}, api: apiServer(t)}
	c := classOf("c")
	s.create(c)
	old := c.DeepCopy()
	s.editClass(c, func(c *v1alpha1.FireboltEngineClass) { c.Finalizers = []string{"example.com/keep"} })
	if result := s.reconcileStale(c, old); result.RequeueAfter == 0 {
		t.Errorf("without the finalizer: %+v, want another try", result)
	}
	s.checkFinalizers(c, "example.com/keep")
	s.reconcileStale(c, nil)
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
	old = c.DeepCopy()
	s.editClass(c, func(c *v1alpha1.FireboltEngineClass) { c.Spec.Template.Spec.HostIPC = true })
	old.Status = v1alpha1.FireboltEngineClassStatus{}
	old.ManagedFields = nil
	if result := s.reconcileStale(c, old); result.RequeueAfter == 0 {
		t.Errorf("with an old spec: %+v, want another try", result)
	}
	s.reconcileStale(c, nil)
	s.waitForReason(c, v1alpha1.ReasonOperatorOwnedFieldSet, 0)
}
