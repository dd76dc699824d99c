package names

import "github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"

// FieldManager owns everything that the operator writes, except the conditions of flotilla-conditions.
const FieldManager = "superset-operator"

// FormerManager is the field manager of the legacy operator. BeforeFirstApply is the name that the API server gives
// to all managers before the first server-side apply.
const (
	FormerManager    = "manager"
	BeforeFirstApply = "before-first-apply"
)

// MainContainer is the name of the container that runs Superset.
const MainContainer = "superset"

// CreateDatabaseContainer is the name of the init container that creates the metastore's database.
const CreateDatabaseContainer = "create-database"

// MaintenancePage is the name of the maintenance page in object names and labels, in
// place of a component's.
const MaintenancePage = "maintenance-page"

// Component returns the name of a component's Deployment and Service, {superset}-{component}.
func Component(superset, component string) string { return superset + "-" + component }

// Config returns the name of the ConfigMap of a component or a task, {superset}-{name}-config.
func Config(superset, name string) string { return superset + "-" + name + "-config" }

// Job returns the name of a task's Job, {superset}-{task}.
func Job(superset, task string) string { return superset + "-" + task }

// ServiceAccount returns the name of the account under which all pods run.
func ServiceAccount(sup *v1alpha1.Superset) string {
	if sa := sup.Spec.ServiceAccount; sa != nil && sa.Name != "" {
		return sa.Name
	}
	return sup.Name
}

// Selector returns the labels that select a component's pods. They never change:
// a Deployment's selector is immutable.
func Selector(superset, component string) map[string]string {
	return map[string]string{
		v1alpha1.LabelName:      v1alpha1.NameValue,
		v1alpha1.LabelComponent: component,
		v1alpha1.LabelInstance:  superset,
	}
}

// Labels returns the labels of a component's objects and pods.
func Labels(superset, component string) map[string]string {
	labels := Selector(superset, component)
	labels[v1alpha1.LabelParent] = superset
	return labels
}

// Task returns the labels of a task's objects and pods; task is in lower case.
func Task(superset, task string) map[string]string {
	labels := Labels(superset, v1alpha1.TaskComponentValue)
	labels[v1alpha1.LabelInstance] = Job(superset, task)
	labels[v1alpha1.LabelTaskInstance] = Job(superset, task)
	labels[v1alpha1.LabelTask] = task
	return labels
}

// Shared returns the labels of objects that belong to no single component.
func Shared(superset string) map[string]string {
	return map[string]string{
		v1alpha1.LabelName:   v1alpha1.NameValue,
		v1alpha1.LabelParent: superset,
	}
}
