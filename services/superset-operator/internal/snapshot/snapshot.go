package snapshot

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is any kind of object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Snapshot holds the objects of one Superset. Maps have no entry for a missing
// object. The objects come from a cache and must not be changed.
type Snapshot struct {
	ServiceAccount *corev1.ServiceAccount
	// Deployments, Services, ConfigMaps, Autoscalers and Budgets are by component name,
	// for example "web-server"; ConfigMaps of tasks are by task name, for example "migrate".
	Deployments map[string]*appsv1.Deployment
	Services    map[string]*corev1.Service
	ConfigMaps  map[string]*corev1.ConfigMap
	Autoscalers map[string]*autoscalingv2.HorizontalPodAutoscaler
	Budgets     map[string]*policyv1.PodDisruptionBudget
	// Jobs are by task name.
	Jobs map[string]*batchv1.Job
	// Pods are by component name; those of tasks and of the maintenance page are omitted.
	Pods map[string][]corev1.Pod
	// TaskPods are by task name.
	TaskPods map[string][]corev1.Pod
	// CreateFailures are the reasons why pods of Jobs cannot be created, by task name.
	CreateFailures map[string]string
	// Page is the maintenance page's Deployment, PageConfig its ConfigMap, PagePods its pods.
	Page       *appsv1.Deployment
	PageConfig *corev1.ConfigMap
	PagePods   []corev1.Pod
	// Orphans have the name and all labels of an object of the Superset and no owner.
	Orphans []Object
	// Former are objects of a deleted Superset of the same name that the garbage collector has not deleted yet.
	Former []Object
	// Foreign are foreign Deployments and active pods with the labels of the components, each as kind and name.
	Foreign []string
	// Unmanaged are Deployments of the Superset that have the labels of a component but not its name, and have or request pods.
	Unmanaged []string
}
