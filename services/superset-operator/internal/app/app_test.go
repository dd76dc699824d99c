package app

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cached returns the options for the kind of an object.
func cached[T client.Object](t *testing.T) cache.ByObject {
	t.Helper()
	var o cache.Options
	CacheOptions(&o)
	for obj, by := range o.ByObject {
		if _, ok := obj.(T); ok {
			if by.Transform == nil {
				by.Transform = o.DefaultTransform
			}
			return by
		}
	}
	t.Fatalf("no options for %T", *new(T))
	return cache.ByObject{}
}

func TestCacheKeepsNoFiles(t *testing.T) {
	c := &corev1.ConfigMap{Data: map[string]string{"script": strings.Repeat("import os\n", 100)}}
	if _, err := cached[*corev1.ConfigMap](t).Transform(c); err != nil {
		t.Fatal(err)
	}
	if len(c.Data["script"]) == 0 || len(c.Data["script"]) > 64 {
		t.Errorf("data is %v, want a digest", c.Data)
	}
}

func TestCacheSharesManagedFields(t *testing.T) {
	transform := cached[*appsv1.Deployment](t).Transform
	var fields [2]*metav1.FieldsV1
	for i := range fields {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "superset-operator", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)},
		}}}
		if _, err := transform(d); err != nil {
			t.Fatal(err)
		}
		fields[i] = d.ManagedFields[0].FieldsV1
	}
	if fields[0] != fields[1] {
		t.Error("equal managed fields are kept twice")
	}
}

func TestCacheTrimsPods(t *testing.T) {
	p := &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v"}}}}
	if _, err := cached[*corev1.Pod](t).Transform(p); err != nil || p.Spec.Volumes != nil {
		t.Errorf("got %v, error %v", p.Spec, err)
	}
}

func TestFamilyOfPodIsThatOfCluster(t *testing.T) {
	for podIP, want := range map[string]bool{
		"": false, "10.1.2.3": false, "fd00::1": true, "2001:db8::10": true, "unknown": false,
	} {
		if got := isIPv6(podIP); got != want {
			t.Errorf("pod IP %q: got %t, want %t", podIP, got, want)
		}
	}
}
