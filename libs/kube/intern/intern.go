// Package intern stores equal parts of cached objects once. The objects of a fleet have many parts in common: with
// thousands of them, these parts are most of the memory of a controller.
//
// Its functions change the object that they get, so call them in transforms of caches. A shared part must not be changed
// in place; clients that read from a cache return copies.
package intern

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"unique"
	"weak"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transform is a transform for caches of any kind. It shares labels and managed fields, and the probes and the labels of
// pod templates.
func Transform(obj any) (any, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return obj, nil
	}
	o.SetLabels(Map(o.GetLabels()))
	managedFields(o)
	switch o := o.(type) {
	case *appsv1.Deployment:
		template(&o.Spec.Template)
	case *appsv1.StatefulSet:
		template(&o.Spec.Template)
	}
	return obj, nil
}

// Map returns a map with the same content and shared keys and values.
func Map(of map[string]string) map[string]string {
	if of == nil {
		return nil
	}
	out := make(map[string]string, len(of))
	for key, value := range of {
		out[unique.Make(key).Value()] = unique.Make(value).Value()
	}
	return out
}

// Probes shares the probes of containers.
func Probes(containers []corev1.Container) {
	for i := range containers {
		c := &containers[i]
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = probe(c.LivenessProbe), probe(c.ReadinessProbe), probe(c.StartupProbe)
	}
}

func template(t *corev1.PodTemplateSpec) {
	t.Labels = Map(t.Labels)
	Probes(t.Spec.InitContainers)
	Probes(t.Spec.Containers)
}

func managedFields(obj metav1.Object) {
	entries := obj.GetManagedFields()
	for i := range entries {
		if f := entries[i].FieldsV1; f != nil {
			entries[i].FieldsV1 = fields.shared(f.GetRawBytes(), f)
		}
	}
}

func probe(p *corev1.Probe) *corev1.Probe {
	if p == nil {
		return nil
	}
	content, err := p.Marshal()
	if err != nil {
		return p // shared or not, it is the same probe
	}
	return probes.shared(content, p)
}

var (
	fields pool[metav1.FieldsV1]
	probes pool[corev1.Probe]
)

// pool holds one value for each content, as long as an object refers to it.
type pool[T any] struct {
	mu     sync.Mutex
	values map[digest]weak.Pointer[T]
}

type digest [sha256.Size]byte

// shared returns the value of the pool with this content. Without one it adds the given value.
func (p *pool[T]) shared(content []byte, value *T) *T {
	key := digest(sha256.Sum256(content))
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.values[key].Value(); known != nil {
		return known
	}
	if p.values == nil {
		p.values = map[digest]weak.Pointer[T]{}
	}
	p.values[key] = weak.Make(value)
	runtime.AddCleanup(value, p.clean, key)
	return value
}

// clean removes the entry of a value that is no longer in use, unless another one took its place.
func (p *pool[T]) clean(key digest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.values[key].Value() == nil {
		delete(p.values, key)
	}
}
