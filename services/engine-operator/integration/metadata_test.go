package integration

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// metadataPod returns the pod of the metadata service that is not terminating.
func (s *testEnv) metadataPod() *corev1.Pod {
	s.t.Helper()
	pods := &corev1.PodList{}
	if err := s.api.List(s.t.Context(), pods, client.InNamespace(s.namespace), client.MatchingLabels(names.ComponentLabels("shop", "metadata"))); err != nil {
		s.t.Fatal(err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			return &pods.Items[i]
		}
	}
	s.t.Fatalf("no pod of the metadata service in %d pods", len(pods.Items))
	return nil
}

// setFinalizers replaces the finalizers of the pod.
func (s *testEnv) setFinalizers(p *corev1.Pod, finalizers ...string) {
	s.t.Helper()
	before := p.DeepCopy()
	p.Finalizers = finalizers
	if err := s.api.Patch(s.t.Context(), p, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
}

// Earlier releases rendered a rolling update. An upgrade converts it with one write and restarts no pod.
func TestUpgradeConvertsMetadataStrategy(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	pod := s.metadataPod()
	s.waitForIdle()
	s.stopAndWait()
	i, metadata := s.getInstance(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop-metadata"}}
	s.read(i, metadata)
	old, err := render.MetadataOf(i, images, 1, netip.IPv4Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	old.Deployment.Spec.Strategy = appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1))},
	}
	if _, err := apply.New(s.api, names.FieldManager).Object(t.Context(), i, old.Deployment, metadata); err != nil {
		t.Fatal(err)
	}
	s.requests.reset()
	s.run()
	expect.Object(t, s.api, metadata, func(d *appsv1.Deployment) error {
		if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || d.Spec.Strategy.RollingUpdate != nil {
			return fmt.Errorf("strategy %+v", d.Spec.Strategy)
		}
		return nil
	})
	s.waitForIdle()
	var writes []string
	for _, w := range s.requests.list(true) {
		if strings.Contains(w, "/deployments/") {
			writes = append(writes, w)
		}
	}
	if len(writes) != 1 {
		t.Errorf("the strategy was converted by %v, want one write", writes)
	}
	if now := s.metadataPod(); now.UID != pod.UID {
		t.Error("the conversion restarted the pod")
	}
}

// uncountingClient reads from an API server before Kubernetes 1.35, whose Deployments do not count terminating pods.
type uncountingClient struct{ client.Client }

func (c uncountingClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, into, opts...)
	if d, ok := into.(*appsv1.Deployment); ok {
		d.Status.TerminatingReplicas = nil
	}
	return err
}

// A database is not stopped under a metadata pod that still terminates, whether its Deployment counts that pod or not.
func TestDatabaseOutlivesTerminatingMetadataPod(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	s.stopAndWait()
	s.newClient = func(cfg *rest.Config, options client.Options) (client.Client, error) {
		c, err := client.New(cfg, options)
		return uncountingClient{c}, err
	}
	s.run()
	s.volume("10Gi")
	s.create(&v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	s.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	pod := s.metadataPod()
	s.setFinalizers(pod, "example.com/hold")
	s.editInstance(func(i *v1alpha1.FireboltInstance) {
		i.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandStopped}
	})
	expect.Condition(t, s.api, s.getInstance(), v1alpha1.ConditionMetadataReady, metav1.ConditionFalse)
	expect.Object(t, s.api, pod, func(p *corev1.Pod) error {
		if p.DeletionTimestamp == nil {
			return fmt.Errorf("the pod still runs")
		}
		return nil
	})
	database := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop-metadata-pg"}}
	expect.Never(t, 4*short, func() error {
		if s.read(database); *database.Spec.Replicas == 0 {
			return fmt.Errorf("the database was stopped under a terminating pod")
		}
		return nil
	})
	s.setFinalizers(pod)
	expect.Object(t, s.api, database, func(d *appsv1.StatefulSet) error {
		if *d.Spec.Replicas != 0 {
			return fmt.Errorf("%d replicas", *d.Spec.Replicas)
		}
		return nil
	})
}

// A stop does not depend on the rest of the spec: a component that cannot be applied scales down too.
func TestStopIncludesFailedComponents(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	s.remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db"}})
	s.editInstance(func(i *v1alpha1.FireboltInstance) {
		i.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandStopped}
		i.Spec.Gateway.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{HostNetwork: true}}
	})
	for _, name := range []string{"shop-metadata", "shop-gateway"} {
		expect.Object(t, s.api, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}, func(d *appsv1.Deployment) error {
			if *d.Spec.Replicas != 0 {
				return fmt.Errorf("%d replicas", *d.Spec.Replicas)
			}
			return nil
		})
	}
}
