// Package gen builds the objects that many tests need, complete enough for a real API server to accept them. Modifiers
// set the fields that matter to a test, so that they stand out:
//
//	gen.Deployment(ns, "web", gen.Replicas(3), gen.Fail(controlplane.FailCrashLoop))
package gen

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
)

// Workload holds the fields that modifiers change: those that Deployments, StatefulSets, Jobs and Pods share.
type Workload struct {
	Meta     metav1.ObjectMeta
	Replicas int32 // for a Job: completions
	Pod      corev1.PodTemplateSpec
}

// Modifier changes a workload before it is built.
type Modifier func(*Workload)

// Replicas sets the number of pods; the default is 1.
func Replicas(n int32) Modifier {
	return func(w *Workload) { w.Replicas = n }
}

// Image sets the image of the container.
func Image(image string) Modifier {
	return func(w *Workload) { w.Pod.Spec.Containers[0].Image = image }
}

// Label sets a label on the object.
func Label(key, value string) Modifier {
	return func(w *Workload) { metav1.SetMetaDataLabel(&w.Meta, key, value) }
}

// PodAnnotation sets an annotation on the pods.
func PodAnnotation(key, value string) Modifier {
	return func(w *Workload) { metav1.SetMetaDataAnnotation(&w.Pod.ObjectMeta, key, value) }
}

// Fail makes the simulated pods fail; how is one of the Fail constants of package controlplane.
func Fail(how string) Modifier {
	return PodAnnotation(controlplane.FailAnnotation, how)
}

// Ends makes the simulated pods terminate after a duration such as "2s", with an exit code such as "0".
func Ends(after, exitCode string) Modifier {
	return func(w *Workload) {
		PodAnnotation(controlplane.FinishAfterAnnotation, after)(w)
		PodAnnotation(controlplane.ExitCodeAnnotation, exitCode)(w)
	}
}

// Deployment returns a Deployment with one container.
func Deployment(namespace, name string, modifiers ...Modifier) *appsv1.Deployment {
	w := workload(namespace, name, modifiers)
	return &appsv1.Deployment{
		ObjectMeta: w.Meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: &w.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: w.Pod.Labels},
			Template: w.Pod,
		},
	}
}

// StatefulSet returns a StatefulSet with one container and without volumes.
func StatefulSet(namespace, name string, modifiers ...Modifier) *appsv1.StatefulSet {
	w := workload(namespace, name, modifiers)
	return &appsv1.StatefulSet{
		ObjectMeta: w.Meta,
		Spec: appsv1.StatefulSetSpec{
			ServiceName: name,
			Replicas:    &w.Replicas,
			Selector:    &metav1.LabelSelector{MatchLabels: w.Pod.Labels},
			Template:    w.Pod,
		},
	}
}

// Job returns a Job with one container and without retries.
func Job(namespace, name string, modifiers ...Modifier) *batchv1.Job {
	w := workload(namespace, name, modifiers)
	w.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		ObjectMeta: w.Meta,
		Spec:       batchv1.JobSpec{Completions: &w.Replicas, BackoffLimit: new(int32), Template: w.Pod},
	}
}

// Pod returns a Pod with one container.
func Pod(namespace, name string, modifiers ...Modifier) *corev1.Pod {
	w := workload(namespace, name, modifiers)
	w.Meta.Annotations = w.Pod.Annotations
	return &corev1.Pod{ObjectMeta: w.Meta, Spec: w.Pod.Spec}
}

func workload(namespace, name string, modifiers []Modifier) Workload {
	w := Workload{
		Meta:     metav1.ObjectMeta{Namespace: namespace, Name: name},
		Replicas: 1,
		Pod: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.org/" + name + ":1"}}},
		},
	}
	for _, modify := range modifiers {
		modify(&w)
	}
	return w
}
