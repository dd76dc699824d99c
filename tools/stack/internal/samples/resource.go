package samples

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource holds the fields of an object that this package reads.
type Resource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Phase      string             `json:"phase"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// ingesterGroup is the API group of the kinds that are copied to MySQL.
const ingesterGroup = "michelangelo.api"

// rule defines the health of a kind.
type rule struct {
	phase     string // status.phase must be this
	condition string // this condition must be True
}

var rules = map[schema.GroupKind]rule{
	{Group: "superset.apache.org", Kind: "Superset"}:         {phase: "Running", condition: "Available"},
	{Group: "compute.firebolt.io", Kind: "FireboltEngine"}:   {phase: "stable", condition: "Available"},
	{Group: "compute.firebolt.io", Kind: "FireboltInstance"}: {phase: "Ready", condition: "Ready"},
}

// Key returns kind, namespace and name.
func (r Resource) Key() string {
	return fmt.Sprintf("%s %s/%s", r.groupKind(), r.Namespace, r.Name)
}

func (r Resource) groupKind() schema.GroupKind {
	return r.GroupVersionKind().GroupKind()
}

// Stored reports whether the ingester copies the resource to MySQL.
func (r Resource) Stored() bool {
	return r.groupKind().Group == ingesterGroup
}

// Table returns the MySQL table of the kind.
func (r Resource) Table() string {
	return strings.ToLower(r.Kind)
}

// Problem returns the reason why the resource is not healthy yet, or an empty string.
func (r Resource) Problem() string {
	want, ok := rules[r.groupKind()]
	if !ok {
		return ""
	}
	if r.Status.Phase != want.phase {
		return fmt.Sprintf("phase %q, not %s", r.Status.Phase, want.phase)
	}
	c := meta.FindStatusCondition(r.Status.Conditions, want.condition)
	switch {
	case c == nil:
		return "no condition " + want.condition
	case c.Status != metav1.ConditionTrue:
		return fmt.Sprintf("%s is %s/%s: %s", c.Type, c.Status, c.Reason, c.Message)
	case c.ObservedGeneration != 0 && c.ObservedGeneration != r.Generation:
		return fmt.Sprintf("%s observed generation %d, want %d", c.Type, c.ObservedGeneration, r.Generation)
	}
	return ""
}

// conditionStatus returns the status of a condition, or an empty string if the resource does not have it.
func (r Resource) conditionStatus(name string) string {
	if c := meta.FindStatusCondition(r.Status.Conditions, name); c != nil {
		return string(c.Status)
	}
	return ""
}
