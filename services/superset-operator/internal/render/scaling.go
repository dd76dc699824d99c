package render

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Autoscaler renders a component's HorizontalPodAutoscaler; nil when there is none.
func Autoscaler(c *resolve.Component) *autoscalingv2.HorizontalPodAutoscaler {
	if c.Autoscaling == nil {
		return nil
	}
	a := c.Autoscaling.DeepCopy()
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, Labels: layered(c.Labels)},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: c.Name},
			MinReplicas:    a.MinReplicas, MaxReplicas: a.MaxReplicas, Metrics: a.Metrics,
		},
	}
}

// DisruptionBudget renders a component's PodDisruptionBudget; nil when there is none.
func DisruptionBudget(c *resolve.Component) *policyv1.PodDisruptionBudget {
	if c.PodDisruptionBudget == nil {
		return nil
	}
	b := c.PodDisruptionBudget.DeepCopy()
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, Labels: layered(c.Labels)},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: b.MinAvailable, MaxUnavailable: b.MaxUnavailable,
			Selector: &metav1.LabelSelector{MatchLabels: layered(c.Selector)},
		},
	}
}
