package superset_test

import (
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

// permanentChildren returns the kinds and names of all children but Jobs.
func (l *recordedEnv) permanentChildren() []string {
	l.t.Helper()
	var out []string
	for _, kind := range children() {
		for _, obj := range l.all(kind) {
			if _, isJob := obj.(*batchv1.Job); !isJob {
				out = append(out, fmt.Sprintf("%s %s", reflect.TypeOf(obj).Elem().Name(), obj.GetName()))
			}
		}
	}
	return out
}

// waitAdopted waits until each of the objects has exactly one event of its adoption.
func (l *recordedEnv) waitAdopted(objects []string) {
	l.t.Helper()
	expect.Eventually(l.t, timeout, func() error {
		adopted := map[string]int{}
		for _, e := range l.eventList() {
			if object, _, ok := strings.Cut(strings.TrimPrefix(e.Note, "Adopted "), ":"); ok && e.Reason == statusevents.EventAdopted {
				adopted[object]++
				if e.Series != nil {
					adopted[object] += int(e.Series.Count)
				}
			}
		}
		for _, object := range objects {
			if adopted[object] != 1 {
				return fmt.Errorf("%d events of the adoption of %s, want 1, in %v", adopted[object], object, adopted)
			}
		}
		return nil
	})
}

// restoreChildren replaces all children by copies without an owner, and deletes the Jobs.
func (l *recordedEnv) restoreChildren() {
	l.t.Helper()
	for _, kind := range children() {
		for _, obj := range l.all(kind) {
			backup, ok := obj.DeepCopyObject().(client.Object)
			if !ok {
				l.t.Fatalf("%T is not a client.Object", obj)
			}
			if err := l.client.Delete(l.t.Context(), obj, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
				l.t.Fatal(err)
			}
			expect.Deleted(l.t, l.client, obj)
			if _, isJob := backup.(*batchv1.Job); isJob {
				continue
			}
			if service, isService := backup.(*corev1.Service); isService {
				service.Spec.ClusterIP, service.Spec.ClusterIPs = "", nil
			}
			backup.SetUID("")
			backup.SetResourceVersion("")
			backup.SetManagedFields(nil)
			backup.SetOwnerReferences(nil)
			if err := l.client.Create(l.t.Context(), backup); err != nil {
				l.t.Fatal(err)
			}
		}
	}
}

// children lists the kinds of objects that a Superset has.
func children() []client.ObjectList {
	return []client.ObjectList{
		&appsv1.DeploymentList{}, &batchv1.JobList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &corev1.ServiceAccountList{},
		&autoscalingv2.HorizontalPodAutoscalerList{}, &policyv1.PodDisruptionBudgetList{}, &networkingv1.IngressList{},
		&networkingv1.NetworkPolicyList{},
	}
}

// all lists the objects of a kind with the label of the Superset.
func (l *recordedEnv) all(list client.ObjectList) []client.Object {
	l.t.Helper()
	err := l.client.List(l.t.Context(), list, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelParent: "lab"})
	if err != nil {
		l.t.Fatal(err)
	}
	var out []client.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		obj, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("%T is not a client.Object", item)
		}
		out = append(out, obj)
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}
