package apitest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the kinds in testdata.
var GroupVersion = schema.GroupVersion{Group: "test.flotilla.dev", Version: "v1"}

// AddToScheme registers Ship.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Ship{}, &ShipList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Ship is a custom resource with a status that several managers write.
type Ship struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ShipSpec   `json:"spec"`
	Status            ShipStatus `json:"status"`
}

// ShipSpec is the desired state of a Ship.
type ShipSpec struct {
	Size int `json:"size,omitempty"`
}

// ShipStatus is the observed state of a Ship.
type ShipStatus struct {
	Phase       string             `json:"phase,omitempty"`
	Count       int                `json:"count,omitempty"`
	Transitions []Transition       `json:"transitions,omitempty"`
	Conditions  []metav1.Condition `json:"conditions,omitempty"`
}

// Transition is an item of an atomic list.
type Transition struct {
	Seq int    `json:"seq"`
	To  string `json:"to"`
}

// ShipList is a list of Ships.
type ShipList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Ship `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (s *Ship) DeepCopyObject() runtime.Object {
	out := *s
	meta := s.ObjectMeta
	out.ObjectMeta = *meta.DeepCopy()
	out.Status.Transitions = append([]Transition(nil), s.Status.Transitions...)
	out.Status.Conditions = append([]metav1.Condition(nil), s.Status.Conditions...)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *ShipList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Ship))
	}
	return &out
}
