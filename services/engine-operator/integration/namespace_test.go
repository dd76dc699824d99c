package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// rejectingClient rejects the applies of objects with an error, by name.
type rejectingClient struct {
	client.Client
	rejections *rejections
}

type rejections struct {
	mu       sync.Mutex
	of       map[string]error
	rejected map[string]int
}

func (c rejectingClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if named, ok := obj.(interface{ GetName() string }); ok {
		if err := c.rejections.reject(named.GetName()); err != nil {
			return err
		}
	}
	return c.Client.Apply(ctx, obj, opts...)
}

func (r *rejections) reject(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.of[name]
	if err != nil {
		r.rejected[name]++
	}
	return err
}

// set rejects the applies of objects, and no others, from now on.
func (r *rejections) set(err error, names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of, r.rejected = map[string]error{}, map[string]int{}
	for _, name := range names {
		r.of[name] = err
	}
}

// waitFor waits until the apply of each object was rejected.
func (r *rejections) waitFor(t *testing.T, names ...string) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, name := range names {
			if r.rejected[name] < 1 {
				return fmt.Errorf("rejected applies: %v", r.rejected)
			}
		}
		return nil
	})
}

// newRejectingEnv returns an environment whose operator's applies can be rejected.
func newRejectingEnv(t *testing.T) (*testEnv, *rejections) {
	t.Helper()
	s, r := newTestEnv(t), &rejections{}
	s.stopAndWait()
	s.newClient = func(cfg *rest.Config, options client.Options) (client.Client, error) {
		c, err := client.New(cfg, options)
		return rejectingClient{c, r}, err
	}
	s.run()
	return s, r
}

// A terminating namespace rejects creations: neither an engine nor an instance fails. A class creates nothing.
func TestTerminatingNamespaceCausesNoFailure(t *testing.T) {
	t.Parallel()
	s, r := newRejectingEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
	i := s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "a", errors.New("because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	created := []string{"a-g0-hl", "shop-gateway", "shop-metadata"}
	r.set(terminating, created...)
	s.logged.reset()
	for _, name := range created {
		s.remove(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}})
	}
	r.waitFor(t, created...)
	expect.Never(t, short, func() error {
		s.read(e, i)
		for _, c := range append(e.Status.Conditions, i.Status.Conditions...) {
			if strings.Contains(c.Message, "being terminated") {
				return fmt.Errorf("condition %+v", c)
			}
		}
		return nil
	})
	for _, line := range s.logged.reset() {
		if strings.Contains(line, "Reconciler error") {
			t.Errorf("log: %s", line)
		}
	}
	r.set(nil)
	for _, name := range created {
		appears(s, &corev1.Service{}, name)
	}
}
