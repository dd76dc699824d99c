package superset_test

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestTaskWaitsForThePodOfADeletedJob deletes the Job of the first migration as kubectl does by default. Until its pod has
// terminated, no other Job starts, and the status names the pod.
func TestTaskWaitsForThePodOfADeletedJob(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml", func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.PodTemplate = &v1alpha1.PodTemplate{Annotations: map[string]string{controlplane.FinishAfterAnnotation: "1h"}}
	}))
	var pods corev1.PodList
	expect.Eventually(t, timeout, func() error {
		err := e.client.List(t.Context(), &pods, client.InNamespace(e.namespace), client.MatchingLabels{v1alpha1.LabelTask: "migrate"})
		if err != nil || len(pods.Items) != 1 {
			return fmt.Errorf("%d pods, %w", len(pods.Items), err)
		}
		return nil
	})
	pod := &pods.Items[0]
	setFinalizers := func(text string) {
		t.Helper()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":`+text+`}}`))
		if err := e.client.Patch(t.Context(), pod, patch); err != nil {
			t.Fatal(err)
		}
	}
	setFinalizers(`["flotilla.dev/test"]`)
	job := get(e, "development-migrate", &batchv1.Job{})
	if err := e.client.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	e.waitFor(sup, all(condition(v1alpha1.ConditionLifecycleComplete, metav1.ConditionFalse, v1alpha1.ReasonTaskWaiting),
		func(s *v1alpha1.Superset) error {
			if text := message(s, v1alpha1.ConditionLifecycleComplete); !strings.Contains(text, pod.Name) {
				return fmt.Errorf("message %q", text)
			}
			return nil
		}))
	if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(job), job); !apierrors.IsNotFound(err) {
		t.Fatalf("the Job exists while %s runs: %v", pod.Name, err)
	}
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Lifecycle.PodTemplate = nil })
	setFinalizers("null")
	e.waitFor(sup, settled)
}

// TestTaskEndsWithMainContainer ends the main container of each task. Another one, which an admission webhook injected, runs on.
func TestTaskEndsWithMainContainer(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml", func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.PodTemplate = &v1alpha1.PodTemplate{Annotations: map[string]string{controlplane.FinishAfterAnnotation: "1h"}}
	}))
	for _, task := range []string{"migrate", "init"} {
		expect.Eventually(t, timeout, func() error {
			var pods corev1.PodList
			err := e.client.List(t.Context(), &pods, client.InNamespace(e.namespace), client.MatchingLabels{v1alpha1.LabelTask: task})
			if err != nil || len(pods.Items) != 1 || pods.Items[0].Status.Phase != corev1.PodRunning {
				return fmt.Errorf("no pod of %s runs: %w", task, err)
			}
			pod := &pods.Items[0]
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{
				{Name: "superset", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now()}}},
				{Name: "istio-proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			}
			return e.client.Status().Update(t.Context(), pod)
		})
	}
	e.waitFor(sup, settled)
	for _, task := range []string{"migrate", "init"} {
		expect.Deleted(t, e.client, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "development-" + task}})
	}
}
