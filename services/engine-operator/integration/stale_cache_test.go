package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// filteredCache is a cache that drops the events of one object, like a stale cache.
type filteredCache struct {
	cache.Cache
	about client.Object
}

func (q filteredCache) GetInformer(ctx context.Context, of client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := q.Cache.GetInformer(ctx, of, options...)
	return filteredInformer{informer, q.about}, err
}

type filteredInformer struct {
	cache.Informer
	about client.Object
}

func (q filteredInformer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (
	toolscache.ResourceEventHandlerRegistration, error,
) {
	return q.Informer.AddEventHandlerWithOptions(filteredHandler{handler, q.about}, options)
}

type filteredHandler struct {
	toolscache.ResourceEventHandler
	about client.Object
}

func (q filteredHandler) OnUpdate(before, after any) {
	if o, ok := after.(client.Object); ok && reflect.TypeOf(o) == reflect.TypeOf(q.about) && client.ObjectKeyFromObject(o) == client.ObjectKeyFromObject(q.about) {
		return
	}
	q.ResourceEventHandler.OnUpdate(before, after)
}

// staleClient is a client whose cache is stale for one object; its writes are sent.
type staleClient struct {
	client.Client
	old       client.Object
	conflicts *conflicts
}

func (l staleClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if reflect.TypeOf(into) != reflect.TypeOf(l.old) || key != client.ObjectKeyFromObject(l.old) {
		return l.Client.Get(ctx, key, into, options...)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(l.old.DeepCopyObject()).Elem())
	return nil
}

// markStale prevents the operator from reading a newer version of an object than the current one.
func (s *testEnv) markStale(o client.Object) {
	s.t.Helper()
	s.waitForIdle()
	s.stopAndWait()
	s.read(o)
	old := o.DeepCopyObject().(client.Object) // DeepCopyObject returns the same type
	s.newClient = func(cfg *rest.Config, options client.Options) (client.Client, error) {
		c, err := client.New(cfg, options)
		return staleClient{c, old, s.conflicts}, err
	}
	s.newCache = func(cfg *rest.Config, options cache.Options) (cache.Cache, error) {
		c, err := cache.New(cfg, options)
		return filteredCache{c, old}, err
	}
	s.clock = clocktesting.NewFakeClock(time.Now()) // writes are remembered for a limited time
	s.run()
}

// A status that equals the one in a stale cache is written nevertheless.
func TestStatusWritesWithStaleCache(t *testing.T) {
	t.Parallel()
	t.Run("instance", func(t *testing.T) {
		t.Parallel()
		s := newTestEnv(t)
		i := s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
		expect.Condition(t, s.api, i, "Available", metav1.ConditionTrue)
		s.markStale(i)
		s.simulate("gateway", "NeverReady")
		s.instanceIs(v1alpha1.InstanceDegraded, v1alpha1.ConditionGatewayReady, v1alpha1.ReasonProbeFailed)
		expect.Condition(t, s.api, i, "Available", metav1.ConditionFalse)
		s.simulate("gateway", "")
		s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionGatewayReady, v1alpha1.ReasonComponentReady)
		expect.Condition(t, s.api, i, "Available", metav1.ConditionTrue)
	})
	t.Run("engine", func(t *testing.T) {
		t.Parallel()
		s := newTestEnv(t)
		e := engineOf("a", 1)
		s.create(e)
		s.waitForRollout(e, v1alpha1.PhaseStable, 0)
		expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
		expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
		s.markStale(e)
		s.fail("a-g0-0", "CrashLoopBackOff")
		expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionFalse)
		expect.Condition(t, s.api, e, "Available", metav1.ConditionFalse)
		s.fail("a-g0-0", "")
		expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
		expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
	})
	t.Run("class", func(t *testing.T) {
		t.Parallel()
		s := newEnvWithoutInstance(t)
		c, e := classOf("c"), boundEngine("a", "c")
		s.create(c)
		s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
		s.markStale(c)
		s.create(e)
		s.waitForReason(c, v1alpha1.ReasonAdmissible, 1)
		s.remove(e)
		s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
	})
}

// conflicts makes the API server reject all status writes once it is active, as after a restore of an older version.
type conflicts struct {
	active atomic.Bool

	mu       sync.Mutex
	versions []string // resource versions of the rejected writes
}

// Status returns a writer that applies the conflicts.
func (l staleClient) Status() client.SubResourceWriter {
	return conflictingWriter{l.Client.Status(), l.conflicts}
}

type conflictingWriter struct {
	client.SubResourceWriter
	conflicts *conflicts
}

func (w conflictingWriter) Apply(ctx context.Context, o runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	if w.conflicts == nil || !w.conflicts.active.Load() {
		return w.SubResourceWriter.Apply(ctx, o, options...)
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &object); err != nil {
		return err
	}
	w.conflicts.mu.Lock()
	defer w.conflicts.mu.Unlock()
	w.conflicts.versions = append(w.conflicts.versions, object.ResourceVersion)
	return apierrors.NewConflict(schema.GroupResource{Resource: object.Kind}, object.Name, errors.New("the object has been modified"))
}

// attempts waits until a status write of a version has been rejected.
func (c *conflicts) attempts(t *testing.T, version string) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !slices.Contains(c.versions, version) {
			return fmt.Errorf("writes of versions %v, want one of %s", c.versions, version)
		}
		return nil
	})
}

// After a restore of an older version the API server rejects writes of the version that this process remembers; it must
// not try that one forever.
func TestConflictDropsRememberedVersion(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		object func(s *testEnv) client.Object
		// change changes the status of the object twice; no two of the three states are equal.
		change [2]func(s *testEnv)
	}{
		"instance": {
			func(s *testEnv) client.Object {
				i := s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
				expect.Condition(s.t, s.api, i, "Available", metav1.ConditionTrue)
				return i
			},
			[2]func(s *testEnv){
				func(s *testEnv) { s.simulate("gateway", "NeverReady") }, func(s *testEnv) { s.simulate("metadata", "NeverReady") },
			},
		},
		"engine": {
			func(s *testEnv) client.Object {
				e := engineOf("a", 2)
				s.create(e)
				s.waitForRollout(e, v1alpha1.PhaseStable, 0)
				expect.Condition(s.t, s.api, e, "Available", metav1.ConditionTrue)
				return e
			},
			[2]func(s *testEnv){
				func(s *testEnv) { s.fail("a-g0-0", "CrashLoopBackOff") }, func(s *testEnv) { s.fail("a-g0-1", "CrashLoopBackOff") },
			},
		},
		"class": {
			func(s *testEnv) client.Object {
				c := classOf("c")
				s.create(c)
				s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
				return c
			},
			[2]func(s *testEnv){
				func(s *testEnv) { s.create(boundEngine("a", "c")) }, func(s *testEnv) { s.create(boundEngine("b", "c")) },
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			s.conflicts = &conflicts{}
			o := tc.object(s)
			s.markStale(o)
			restored := o.GetResourceVersion()
			tc.change[0](s)
			expect.Object(t, s.api, o, func(o client.Object) error {
				if o.GetResourceVersion() == restored {
					return errors.New("the status is unchanged")
				}
				return nil
			})
			s.waitForIdle()
			s.conflicts.active.Store(true)
			tc.change[1](s)
			s.conflicts.attempts(t, restored)
		})
	}
}

// The last write of a former leader may reach its successor as an event after its first reconcile: it is corrected.
func TestOperatorCorrectsWriteOfFormerLeader(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e, c := engineOf("a", 1), classOf("c")
	s.create(c)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
	i := s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	s.updateStatus(i, func() { i.Status.DeployedVersion = "late" })
	s.updateStatus(e, func() { e.Status.ReadyReplicas = 7 })
	s.updateStatus(c, func() { c.Status.BoundEngines = 7 })
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
	expect.Object(t, s.api, i, func(i *v1alpha1.FireboltInstance) error {
		if i.Status.DeployedVersion != images.Metadata {
			return fmt.Errorf("deployed version %q", i.Status.DeployedVersion)
		}
		return nil
	})
	expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		if e.Status.ReadyReplicas != 1 {
			return fmt.Errorf("%d ready replicas", e.Status.ReadyReplicas)
		}
		return nil
	})
}

// updateStatus writes a status like another process of the operator.
func (s *testEnv) updateStatus(o client.Object, change func()) {
	s.t.Helper()
	expect.Eventually(s.t, expect.Long, func() error {
		if err := s.api.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return s.api.Status().Update(s.t.Context(), o, client.FieldOwner(names.FieldManager))
	})
}
