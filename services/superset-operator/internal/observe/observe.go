package observe

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// ParentIndex is the cache's index of pods and service accounts by the Superset they belong to.
const ParentIndex = "superset.apache.org/parent"

// ParentOf is the function behind [ParentIndex].
func ParentOf(obj client.Object) []string {
	if parent := obj.GetLabels()[v1alpha1.LabelParent]; parent != "" {
		return []string{parent}
	}
	return nil
}

// Snapshot reads everything that belongs to the Superset. Objects of the same
// name that another owner controls are left out; applying over them is refused later.
func Snapshot(ctx context.Context, c client.Reader, sup *v1alpha1.Superset) (*snapshot.Snapshot, error) {
	s := &snapshot.Snapshot{
		Deployments: map[string]*appsv1.Deployment{},
		Services:    map[string]*corev1.Service{},
		ConfigMaps:  map[string]*corev1.ConfigMap{},
		Jobs:        map[string]*batchv1.Job{},
	}
	r := reader{c, sup}
	for _, d := range component.All() {
		name := naming.Component(sup.Name, d.Name)
		if err := get(ctx, r, name, d.Name, s.Deployments, &appsv1.Deployment{}); err != nil {
			return nil, err
		}
		if err := get(ctx, r, name, d.Name, s.Services, &corev1.Service{}); err != nil {
			return nil, err
		}
		if err := get(ctx, r, naming.Config(sup.Name, d.Name), d.Name, s.ConfigMaps, &corev1.ConfigMap{}); err != nil {
			return nil, err
		}
	}
	for _, kind := range resolve.TaskKinds() {
		if err := get(ctx, r, naming.Job(sup.Name, kind.Word), kind.Word, s.Jobs, &batchv1.Job{}); err != nil {
			return nil, err
		}
		if err := get(ctx, r, naming.Config(sup.Name, kind.Word), kind.Word, s.ConfigMaps, &corev1.ConfigMap{}); err != nil {
			return nil, err
		}
	}
	accounts := map[string]*corev1.ServiceAccount{}
	if err := get(ctx, r, naming.ServiceAccount(sup), "", accounts, &corev1.ServiceAccount{}); err != nil {
		return nil, err
	}
	s.ServiceAccount = accounts[""]
	return s, r.pods(ctx, s)
}

type reader struct {
	client.Reader
	sup *v1alpha1.Superset
}

func get[T client.Object](ctx context.Context, r reader, name, key string, into map[string]T, obj T) error {
	err := r.Get(ctx, client.ObjectKey{Namespace: r.sup.Namespace, Name: name}, obj)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %T %q: %w", obj, name, err)
	}
	if owner := metav1.GetControllerOf(obj); owner == nil || owner.UID == r.sup.UID {
		into[key] = obj
	}
	return nil
}

func (r reader) pods(ctx context.Context, s *snapshot.Snapshot) error {
	var list corev1.PodList
	err := r.List(ctx, &list, client.InNamespace(r.sup.Namespace), client.MatchingFields{ParentIndex: r.sup.Name})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	s.Pods = map[string][]corev1.Pod{}
	for i := range list.Items {
		name := list.Items[i].Labels[v1alpha1.LabelComponent]
		if name != v1alpha1.TaskComponentValue {
			s.Pods[name] = append(s.Pods[name], list.Items[i])
		}
	}
	return nil
}

// Jobs translates task Jobs into what the lifecycle decides by.
func Jobs(s *snapshot.Snapshot) map[string]lifecycle.Job {
	out := map[string]lifecycle.Job{}
	for word, j := range s.Jobs {
		out[word] = job(j)
	}
	return out
}

func job(j *batchv1.Job) lifecycle.Job {
	out := lifecycle.Job{
		UID:      j.UID,
		Checksum: j.Annotations[v1alpha1.AnnotationConfigChecksum],
		PodHash:  j.Annotations[v1alpha1.AnnotationPodSpecHash],
		Deleting: !j.DeletionTimestamp.IsZero(),
	}
	if n, err := strconv.ParseInt(j.Annotations[v1alpha1.AnnotationAttempt], 10, 32); err == nil {
		out.Attempt = int32(n)
	}
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			out.State, out.FinishedAt = lifecycle.JobSucceeded, c.LastTransitionTime.DeepCopy()
		case batchv1.JobFailed:
			out.State, out.FinishedAt = lifecycle.JobFailed, c.LastTransitionTime.DeepCopy()
			out.Message = failure(c)
		}
	}
	return out
}

const maxMessage = 256

// failure is the Job's own explanation, cut to a length that fits into a status.
func failure(c *batchv1.JobCondition) string {
	text := c.Reason
	if c.Message != "" {
		text += ": " + c.Message
	}
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage-3]) + "..."
	}
	return text
}
