package object

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Object is an object of the cluster. It is immutable: copies share its bytes.
//
// Of ObjectMeta these fields are set: name, namespace, uid, resourceVersion, generation,
// deletionTimestamp, finalizers, and the annotations that the caller of [Parse] named.
type Object struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// JSON is the whole object as it was received.
	JSON []byte
	// Received is the time at which the watch delivered it; zero for an object of a list.
	Received time.Time

	metadata, spec, status section
	// unknown is a top-level key of the object that no kind has.
	unknown string
}

// section is a part of an object's JSON; the zero section is an absent one.
type section struct{ start, end int }

// Metadata returns the JSON of the object's metadata; empty if there is none.
func (o *Object) Metadata() []byte { return o.JSON[o.metadata.start:o.metadata.end] }

// Spec returns the JSON of the object's spec; empty if there is none.
func (o *Object) Spec() []byte { return o.JSON[o.spec.start:o.spec.end] }

// Status returns the JSON of the object's status; empty if there is none.
func (o *Object) Status() []byte { return o.JSON[o.status.start:o.status.end] }

// Unknown returns a top-level key of the object that no kind has, or "".
func (o *Object) Unknown() string { return o.unknown }

// DeepCopyObject implements runtime.Object. The copies share their data, which is immutable.
func (o *Object) DeepCopyObject() runtime.Object {
	out := *o
	o.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// MarshalJSON implements json.Marshaler.
func (o *Object) MarshalJSON() ([]byte, error) { return o.JSON, nil }

// Unstructured decodes the object to a tree.
func (o *Object) Unstructured() (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(o.JSON, &u.Object); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	return u, nil
}

// FromUnstructured encodes a tree as an Object.
func FromUnstructured(u *unstructured.Unstructured, annotations ...string) (*Object, error) {
	data, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("encode object: %w", err)
	}
	return Parse(data, annotations...)
}

// List is the response to a list of objects.
type List struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*Object
}

// DeepCopyObject implements runtime.Object.
func (l *List) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]*Object, len(l.Items))
	for i, o := range l.Items {
		out.Items[i] = o.DeepCopyObject().(*Object) // by its definition
	}
	return &out
}
