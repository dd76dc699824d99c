package superset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// stalled returns a check that Progressing is False and Degraded has the status, both with the reason and for the
// latest generation.
func stalled(reason string, degraded metav1.ConditionStatus) func(*v1alpha1.Superset) error {
	return all(condition("Progressing", metav1.ConditionFalse, reason), condition("Degraded", degraded, reason),
		func(s *v1alpha1.Superset) error {
			for _, c := range s.Status.Conditions {
				if (c.Type == "Progressing" || c.Type == "Degraded" || c.Type == "Upgradable") && c.ObservedGeneration != s.Generation {
					return fmt.Errorf("%s is of generation %d, want %d", c.Type, c.ObservedGeneration, s.Generation)
				}
			}
			return nil
		})
}

// podRejection prevents the creation of pods in a namespace.
type podRejection struct {
	objects []client.Object
	// edit changes the Superset so that the rejection applies to it.
	edit func(*v1alpha1.Superset)
	// message is part of the API server's answer.
	message string
	// remedy ends the rejection, if deleting its objects does not.
	remedy client.Object
}

func podRejections(namespace string) map[string]podRejection {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "obstacle"}
	account := metav1.ObjectMeta{Namespace: namespace, Name: "absent"}
	clusterScoped := metav1.ObjectMeta{Name: "obstacle-" + namespace}
	return map[string]podRejection{
		"a quota": {
			objects: []client.Object{&corev1.ResourceQuota{ObjectMeta: meta, Spec: corev1.ResourceQuotaSpec{
				Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
			}}},
			message: "forbidden: exceeded quota: obstacle",
		},
		"a LimitRange": {
			objects: []client.Object{&corev1.LimitRange{ObjectMeta: meta, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypePod, Min: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Ti")},
			}}}}},
			message: "minimum memory usage per Pod is 1Ti",
		},
		"an admission policy": {
			objects: []client.Object{
				&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: clusterScoped, Spec: admissionv1.ValidatingAdmissionPolicySpec{
					MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
						RuleWithOperations: admissionv1.RuleWithOperations{
							Operations: []admissionv1.OperationType{admissionv1.Create},
							Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
						},
					}}},
					Validations: []admissionv1.Validation{{Expression: "false", Message: "no pods on Fridays"}},
				}},
				&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: clusterScoped, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName: clusterScoped.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
					MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
						MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
					}},
				}},
			},
			message: "no pods on Fridays",
		},
		"a service account that does not exist": {
			edit: func(s *v1alpha1.Superset) {
				s.Spec.ServiceAccount = &v1alpha1.ServiceAccountSpec{Create: new(false), Name: account.Name}
			},
			message: `serviceaccount "absent" not found`,
			remedy:  &corev1.ServiceAccount{ObjectMeta: account},
		},
	}
}

// create creates the objects and waits until it takes effect.
func (o podRejection) create(l *recordedEnv) {
	l.t.Helper()
	for _, obj := range o.objects {
		if err := l.client.Create(l.t.Context(), obj); err != nil {
			l.t.Fatal(err)
		}
		l.t.Cleanup(func() { o.remove(l, obj) })
	}
	expect.Eventually(l.t, timeout, func() error {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "probe"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
		if len(o.objects) > 0 && l.client.Create(l.t.Context(), probe, client.DryRunAll) == nil {
			return fmt.Errorf("pods can still be created")
		}
		return nil
	})
}

func (o podRejection) remove(l *recordedEnv, obj client.Object) {
	l.t.Helper()
	if err := l.client.Delete(context.WithoutCancel(l.t.Context()), obj); client.IgnoreNotFound(err) != nil {
		l.t.Error(err)
	}
}

// resolve ends the rejection.
func (o podRejection) resolve(l *recordedEnv) {
	l.t.Helper()
	for _, obj := range o.objects {
		o.remove(l, obj)
	}
	if o.remedy != nil {
		if err := l.client.Create(l.t.Context(), o.remedy); err != nil {
			l.t.Fatal(err)
		}
	}
}

// allContain returns a check that each text contains a part.
func allContain(part string, texts func(*v1alpha1.Superset) []string) func(*v1alpha1.Superset) error {
	return func(s *v1alpha1.Superset) error {
		for _, text := range texts(s) {
			if !strings.Contains(text, part) {
				return fmt.Errorf("%q does not contain %q", text, part)
			}
		}
		return nil
	}
}

// TestTaskReportsFailedPodCreation checks that the status of the Superset shows why the API server rejected a task's
// pod, although the Job exists.
func TestTaskReportsFailedPodCreation(t *testing.T) {
	t.Parallel()
	for name := range podRejections("") {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			o := podRejections(l.namespace)[name]
			o.create(l)
			sup := minimal()(l.env)
			if o.edit != nil {
				o.edit(sup)
			}
			l.create(sup)
			l.waitFor(sup, all(condition("LifecycleComplete", metav1.ConditionFalse, "TaskCannotStart"),
				condition("Progressing", metav1.ConditionTrue, "JobRunning"), condition("Degraded", metav1.ConditionTrue, "CreateFailed"),
				allContain(o.message, func(s *v1alpha1.Superset) []string {
					return []string{
						message(s, "LifecycleComplete"), message(s, "Progressing"), message(s, "Degraded"), s.Status.Lifecycle.Migrate.Message,
					}
				})))
			l.waitEvents(map[string]int{"Warning TaskCannotStart": 1})
			o.resolve(l)
			l.waitFor(sup, all(settled, task("migrate", v1alpha1.TaskComplete, 1)))
		})
	}
}

func TestComponentReportsFailedPodCreation(t *testing.T) {
	t.Parallel()
	for name := range podRejections("") {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			o := podRejections(l.namespace)[name]
			o.create(l)
			sup := minimal(func(s *v1alpha1.Superset) { s.Spec.Lifecycle = &v1alpha1.LifecycleSpec{Disabled: new(true)} })(l.env)
			if o.edit != nil {
				o.edit(sup)
			}
			l.create(sup)
			l.waitFor(sup, all(condition("Progressing", metav1.ConditionFalse, "Stalled"), condition("Degraded", metav1.ConditionTrue, "CreateFailed"), func(s *v1alpha1.Superset) error {
				if s.Status.Components == nil || s.Status.Components.WebServer == nil {
					return fmt.Errorf("no component: %s", text(s))
				}
				return allContain(o.message, func(s *v1alpha1.Superset) []string {
					return []string{message(s, "Degraded"), s.Status.Components.WebServer.Message}
				})(s)
			}))
			o.resolve(l)
			l.waitFor(sup, settled)
		})
	}
}
