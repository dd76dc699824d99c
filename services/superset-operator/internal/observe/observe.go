package observe

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// ParentIndex is the cache's index of pods, service accounts and exposure objects by their Superset.
const ParentIndex = "superset.apache.org/parent"

// ParentOf is the function behind [ParentIndex].
func ParentOf(obj client.Object) []string {
	if parent := obj.GetLabels()[v1alpha1.LabelParent]; parent != "" {
		return []string{parent}
	}
	return nil
}

// Snapshot reads all objects that have the Superset as controller. Foreign objects are
// omitted, whatever their names and labels are: they are neither counted nor scaled nor
// deleted, and a later apply over them is rejected. Those that can be adopted, or that
// block a task, are listed.
func Snapshot(ctx context.Context, c client.Reader, sup *v1alpha1.Superset) (*snapshot.Snapshot, error) {
	s := &snapshot.Snapshot{
		Deployments: map[string]*appsv1.Deployment{},
		Services:    map[string]*corev1.Service{},
		ConfigMaps:  map[string]*corev1.ConfigMap{},
		Autoscalers: map[string]*autoscalingv2.HorizontalPodAutoscaler{},
		Budgets:     map[string]*policyv1.PodDisruptionBudget{},
		Jobs:        map[string]*batchv1.Job{},

		CreateFailures: map[string]string{},
	}
	r := reader{c, sup, &s.Orphans, &s.Former}
	for _, d := range component.All() {
		if err := r.component(ctx, s, d.Name); err != nil {
			return nil, err
		}
	}
	for _, kind := range resolve.TaskKinds() {
		labels := names.Task(sup.Name, kind.Slug)
		if err := errors.Join(
			get(ctx, r, child{names.Job(sup.Name, kind.Slug), kind.Slug, labels}, s.Jobs, &batchv1.Job{}),
			get(ctx, r, child{names.Config(sup.Name, kind.Slug), kind.Slug, labels}, s.ConfigMaps, &corev1.ConfigMap{}),
		); err != nil {
			return nil, err
		}
	}
	if err := r.page(ctx, s); err != nil {
		return nil, err
	}
	accounts := map[string]*corev1.ServiceAccount{}
	if err := get(ctx, r, child{names.ServiceAccount(sup), "", names.Shared(sup.Name)}, accounts, &corev1.ServiceAccount{}); err != nil {
		return nil, err
	}
	s.ServiceAccount = accounts[""]
	if err := r.foreign(ctx, s); err != nil {
		return nil, err
	}
	return s, r.pods(ctx, s)
}

func (r reader) component(ctx context.Context, s *snapshot.Snapshot, slug string) error {
	object := child{names.Component(r.sup.Name, slug), slug, names.Labels(r.sup.Name, slug)}
	config := object
	config.name = names.Config(r.sup.Name, slug)
	return errors.Join(
		get(ctx, r, object, s.Deployments, &appsv1.Deployment{}),
		get(ctx, r, object, s.Services, &corev1.Service{}),
		get(ctx, r, config, s.ConfigMaps, &corev1.ConfigMap{}),
		get(ctx, r, object, s.Autoscalers, &autoscalingv2.HorizontalPodAutoscaler{}),
		get(ctx, r, object, s.Budgets, &policyv1.PodDisruptionBudget{}),
	)
}

func (r reader) page(ctx context.Context, s *snapshot.Snapshot) error {
	deployments, configs := map[string]*appsv1.Deployment{}, map[string]*corev1.ConfigMap{}
	labels := names.Labels(r.sup.Name, names.MaintenancePage)
	err := errors.Join(
		get(ctx, r, child{names.Component(r.sup.Name, names.MaintenancePage), "", labels}, deployments, &appsv1.Deployment{}),
		get(ctx, r, child{names.Config(r.sup.Name, names.MaintenancePage), "", labels}, configs, &corev1.ConfigMap{}),
	)
	s.Page, s.PageConfig = deployments[""], configs[""]
	return err
}

type reader struct {
	client.Reader
	sup     *v1alpha1.Superset
	orphans *[]snapshot.Object
	former  *[]snapshot.Object
}

// child identifies an object of the Superset: its name, its key in the snapshot, and the labels that the operator sets on it.
type child struct {
	name, key string
	labels    map[string]string
}

func get[T client.Object](ctx context.Context, r reader, c child, into map[string]T, obj T) error {
	err := r.Get(ctx, client.ObjectKey{Namespace: r.sup.Namespace, Name: c.name}, obj)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get %T %q: %w", obj, c.name, err)
	}
	switch {
	case metav1.IsControlledBy(obj, r.sup):
		into[c.key] = obj
	case IsOrphan(obj, c.labels):
		*r.orphans = append(*r.orphans, obj)
	case FormerlyOwned(obj, r.sup) && obj.GetDeletionTimestamp().IsZero():
		*r.former = append(*r.former, obj)
	}
	return nil
}

func (r reader) pods(ctx context.Context, s *snapshot.Snapshot) error {
	var list corev1.PodList
	err := r.List(ctx, &list, client.InNamespace(r.sup.Namespace), client.MatchingFields{ParentIndex: r.sup.Name})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	s.Pods, s.TaskPods = map[string][]corev1.Pod{}, map[string][]corev1.Pod{}
	for i := range list.Items {
		pod := &list.Items[i]
		switch name := pod.Labels[v1alpha1.LabelComponent]; name {
		case v1alpha1.TaskComponentValue:
			task := pod.Labels[v1alpha1.LabelTask]
			s.TaskPods[task] = append(s.TaskPods[task], *pod)
		case names.MaintenancePage:
			s.PagePods = append(s.PagePods, *pod)
		default:
			switch {
			case OfComponent(pod, r.sup.Name, name):
				s.Pods[name] = append(s.Pods[name], *pod)
			case !snapshot.Ended(pod):
				s.Foreign = append(s.Foreign, "Pod "+pod.Name)
			}
		}
	}
	return nil
}
