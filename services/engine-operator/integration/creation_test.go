package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// podBlocker prevents the creation of pods in a namespace.
type podBlocker struct {
	objects []client.Object
	message string // part of the API server's response
}

func podBlockers(namespace string) map[string]podBlocker {
	namespacedMeta := metav1.ObjectMeta{Namespace: namespace, Name: "obstacle"}
	clusterMeta := metav1.ObjectMeta{Name: "obstacle-" + namespace}
	return map[string]podBlocker{
		"a quota": {
			[]client.Object{&corev1.ResourceQuota{ObjectMeta: namespacedMeta, Spec: corev1.ResourceQuotaSpec{
				Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
			}}}, "forbidden: exceeded quota: obstacle",
		},
		"a LimitRange": {
			[]client.Object{&corev1.LimitRange{ObjectMeta: namespacedMeta, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypePod, Min: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Ti")},
			}}}}}, "minimum memory usage per Pod is 1Ti",
		},
		"an admission policy": {
			[]client.Object{
				&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: clusterMeta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
					MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
						RuleWithOperations: admissionv1.RuleWithOperations{
							Operations: []admissionv1.OperationType{admissionv1.Create},
							Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
						},
					}}},
					Validations: []admissionv1.Validation{{Expression: "false", Message: "no pods on Fridays"}},
				}},
				&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: clusterMeta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName: clusterMeta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
					MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
						MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
					}},
				}},
			}, "no pods on Fridays",
		},
	}
}

// block creates an obstacle, waits until it is effective, and returns a function that removes it.
func (s *testEnv) block(o podBlocker) (remove func()) {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	remove = func() {
		for _, obj := range o.objects {
			if err := s.api.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
				s.t.Error(err)
			}
		}
	}
	s.t.Cleanup(remove)
	for _, obj := range o.objects {
		if err := s.api.Create(ctx, obj); err != nil {
			s.t.Fatal(err)
		}
	}
	expect.Object(s.t, s.api, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, func(*corev1.Namespace) error {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "probe"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
		if s.api.Create(ctx, probe, client.DryRunAll) == nil {
			return fmt.Errorf("pods are still admitted")
		}
		return nil
	})
	return remove
}

// checkMessages checks that the conditions of the given types contain a text.
func checkMessages(conditions []metav1.Condition, text string, types ...string) error {
	for _, kind := range types {
		if c := meta.FindStatusCondition(conditions, kind); c == nil || !strings.Contains(c.Message, text) {
			return fmt.Errorf("%s = %+v, want %q in the message", kind, c, text)
		}
	}
	return nil
}

// The engine reports the API server's response to the creation of its pods.
func TestEngineReportsFailedPodCreation(t *testing.T) {
	t.Parallel()
	for name := range podBlockers("") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			o := podBlockers(s.namespace)[name]
			remove := s.block(o)
			e := engineOf("a", 2)
			s.create(e)
			waitReason(t, s, e, "FailedCreate")
			expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
				if c := meta.FindStatusCondition(e.Status.Conditions, "Progressing"); c == nil || c.Status != metav1.ConditionFalse || c.Reason != "Stalled" {
					return fmt.Errorf("Progressing = %+v", c)
				}
				if c := meta.FindStatusCondition(e.Status.Conditions, "Degraded"); c == nil || c.Status != metav1.ConditionTrue {
					return fmt.Errorf("Degraded = %+v", c)
				}
				return checkMessages(e.Status.Conditions, o.message, "Ready", "Degraded")
			})
			remove()
			s.waitForRollout(e, v1alpha1.PhaseStable, 0)
		})
	}
}

// The service account of a template does not exist yet.
func TestEngineReportsMissingServiceAccount(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	e.Spec.Template = template("example.com/engine:1.0")
	e.Spec.Template.Spec.ServiceAccountName = "runner"
	s.create(e)
	waitReason(t, s, e, "FailedCreate")
	expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		return checkMessages(e.Status.Conditions, `serviceaccount "runner" not found`, "Ready", "Degraded")
	})
	s.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "runner"}})
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
}

// The same for an instance: its Deployments and its own database.
func TestInstanceReportsFailedPodCreation(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	o := podBlockers(s.namespace)["a quota"]
	remove := s.block(o)
	s.volume("10Gi")
	i := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	s.create(i)
	expect.Object(t, s.api, i, func(i *v1alpha1.FireboltInstance) error {
		if err := checkMessages(i.Status.Conditions, "creates no pod for its database: "+o.message, v1alpha1.ConditionMetadataReady); err != nil {
			return err
		}
		return checkMessages(i.Status.Conditions, o.message, "Degraded", v1alpha1.ConditionGatewayReady)
	})
	remove()
	expect.Condition(t, s.api, i, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// Objects of a user have the names of an instance's components: each is reported with the remedy and stays unchanged.
func TestInstanceReportsForeignObjects(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	labels := map[string]string{"by": "hand"}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: labels}
	}
	foreign := []struct {
		condition string
		object    client.Object
	}{
		{v1alpha1.ConditionGatewayReady, &corev1.Service{ObjectMeta: meta("shop-gateway"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}},
		{v1alpha1.ConditionGatewayReady, &appsv1.Deployment{ObjectMeta: meta("shop-gateway"), Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: selector, Template: pod,
		}}},
		{v1alpha1.ConditionMetadataReady, &appsv1.StatefulSet{ObjectMeta: meta("shop-metadata-pg"), Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(0)), Selector: selector, Template: pod,
		}}},
		{v1alpha1.ConditionMetadataReady, &appsv1.Deployment{ObjectMeta: meta("shop-metadata"), Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: selector, Template: pod,
		}}},
	}
	for _, f := range foreign {
		s.create(f.object)
	}
	s.volume("10Gi")
	i := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	s.create(i)
	for _, f := range foreign {
		obj := f.object
		expect.Object(t, s.api, i, func(i *v1alpha1.FireboltInstance) error {
			if err := checkMessages(i.Status.Conditions, obj.GetName(), f.condition); err != nil {
				return err
			}
			return checkMessages(i.Status.Conditions, "Delete or rename the conflicting object.", f.condition)
		})
		uid, generation := obj.GetUID(), obj.GetGeneration()
		if s.read(obj); obj.GetUID() != uid || obj.GetGeneration() != generation || len(obj.GetOwnerReferences()) > 0 {
			t.Errorf("%T was changed: %v", obj, obj)
		}
		s.remove(obj)
	}
	expect.Condition(t, s.api, i, v1alpha1.ConditionReady, metav1.ConditionTrue)
}
