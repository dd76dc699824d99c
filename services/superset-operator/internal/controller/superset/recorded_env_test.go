package superset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// recordedEnv is a running operator with the history of its namespace.
type recordedEnv struct {
	*env
	history *history
}

// newParallelEnv returns an environment whose test runs in parallel with others.
func newParallelEnv(t *testing.T, o options) *recordedEnv {
	t.Helper()
	t.Parallel()
	return newRecordedEnv(t, o)
}

func newRecordedEnv(t *testing.T, o options) *recordedEnv {
	t.Helper()
	l := &recordedEnv{}
	before := o.before
	o.before = func(e *env) {
		l.env, l.history = e, record(t, e.namespace)
		if before != nil {
			before(e)
		}
	}
	start(t, o)
	return l
}

// createRunning creates the Superset and waits until it is Running.
func (l *recordedEnv) createRunning(kind func(*env) *v1alpha1.Superset) *v1alpha1.Superset {
	l.t.Helper()
	sup := l.create(kind(l.env))
	l.waitFor(sup, settled)
	return sup
}

// editAndGetRevision edits the Superset and returns the revision of the edit.
func (l *recordedEnv) editAndGetRevision(sup *v1alpha1.Superset, change func(*v1alpha1.Superset)) int64 {
	l.t.Helper()
	l.edit(sup, change)
	return revisionOf(sup)
}

// deployment reads the Deployment of a component.
func (l *recordedEnv) deployment(slug string) *appsv1.Deployment {
	l.t.Helper()
	return get(l.env, "lab-"+slug, &appsv1.Deployment{})
}

// waitRolledOut waits until all desired pods of a Deployment have its current template.
func (l *recordedEnv) waitRolledOut(slug string, check func(*appsv1.Deployment) error) {
	l.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "lab-" + slug}}
	expect.Object(l.t, l.client, d, func(d *appsv1.Deployment) error {
		if s := d.Status; s.ObservedGeneration != d.Generation || s.Replicas != *d.Spec.Replicas || s.UpdatedReplicas != s.Replicas || s.ReadyReplicas != s.Replicas {
			return fmt.Errorf("%s: want %d pods, status %+v", d.Name, *d.Spec.Replicas, s)
		}
		return check(d)
	})
}

// runningImage returns the image of a Deployment's main container.
func runningImage(d *appsv1.Deployment) string { return d.Spec.Template.Spec.Containers[0].Image }

// pods lists the pods of the components, as "name uid", in order.
func (l *recordedEnv) pods() []string {
	l.t.Helper()
	var list corev1.PodList
	if err := l.client.List(l.t.Context(), &list, client.InNamespace(l.namespace)); err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		if p := &list.Items[i]; p.Labels[v1alpha1.LabelTask] == "" {
			out = append(out, fmt.Sprintf("%s %s", p.Name, p.UID))
		}
	}
	slices.Sort(out)
	return out
}

// events counts the events of a Superset by "type reason".
func (l *recordedEnv) events() map[string]int {
	l.t.Helper()
	out := map[string]int{}
	for _, e := range l.eventList() {
		n := 1
		if e.Series != nil {
			n = int(e.Series.Count)
		}
		out[e.Type+" "+e.Reason] += n
	}
	return out
}

func (l *recordedEnv) eventList() []eventsv1.Event {
	l.t.Helper()
	var list eventsv1.EventList
	if err := l.client.List(l.t.Context(), &list, client.InNamespace(l.namespace)); err != nil {
		l.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.Kind != v1alpha1.Kind })
}

// waitEvents waits for the wanted number of events, which are sent in the background.
func (l *recordedEnv) waitEvents(want map[string]int) {
	l.t.Helper()
	expect.Eventually(l.t, timeout, func() error {
		got := l.events()
		for key, n := range want {
			if got[key] != n {
				return fmt.Errorf("%d events %q, want %d, in %v", got[key], key, n, got)
			}
		}
		return nil
	})
}

// checkPodsUnchanged checks that the pods are the same as in the earlier list.
func (l *recordedEnv) checkPodsUnchanged(pods []string) {
	l.t.Helper()
	if got := l.pods(); !slices.Equal(got, pods) {
		l.t.Errorf("pods were\n%s\nand are\n%s", strings.Join(pods, "\n"), strings.Join(got, "\n"))
	}
}

// waitDeleted waits until no object of a deleted Superset exists.
func (l *recordedEnv) waitDeleted(sup *v1alpha1.Superset) {
	l.t.Helper()
	expect.Deleted(l.t, l.client, sup)
	expect.Eventually(l.t, timeout, func() error {
		for _, list := range []client.ObjectList{
			&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.ServiceList{},
			&policyv1.PodDisruptionBudgetList{}, &autoscalingv2.HorizontalPodAutoscalerList{},
			&networkingv1.NetworkPolicyList{}, &networkingv1.IngressList{},
		} {
			if err := l.client.List(l.t.Context(), list, client.InNamespace(l.namespace)); err != nil {
				return err
			}
			if n := meta.LenList(list); n > 0 {
				return fmt.Errorf("%d objects still exist in %T", n, list)
			}
		}
		var configs corev1.ConfigMapList
		if err := l.client.List(l.t.Context(), &configs, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelParent: sup.Name}); err != nil {
			return err
		}
		if len(configs.Items) > 0 {
			return fmt.Errorf("%d ConfigMaps still exist", len(configs.Items))
		}
		return nil
	})
}

func configMap() *corev1.ConfigMap   { return &corev1.ConfigMap{} }
func ingress() *networkingv1.Ingress { return &networkingv1.Ingress{} }

// named is an object to search for.
type named struct {
	client.Object
	name string
}

func policy() *networkingv1.NetworkPolicy   { return &networkingv1.NetworkPolicy{} }
func budget() *policyv1.PodDisruptionBudget { return &policyv1.PodDisruptionBudget{} }

func autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{}
}
