package app

import (
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

func TestCacheSharesScripts(t *testing.T) {
	var o cache.Options
	CacheOptions(&o)
	var cached []*corev1.ConfigMap
	for obj, by := range o.ByObject {
		if _, ok := obj.(*corev1.ConfigMap); !ok {
			continue
		}
		for range 2 {
			c := &corev1.ConfigMap{Data: map[string]string{"script": strings.Repeat("import os\n", 3)}}
			if _, err := by.Transform(c); err != nil {
				t.Fatal(err)
			}
			cached = append(cached, c)
		}
	}
	if len(cached) != 2 || cached[0].Data["script"] != strings.Repeat("import os\n", 3) {
		t.Fatalf("cached %v", cached)
	}
	if unsafe.StringData(cached[0].Data["script"]) != unsafe.StringData(cached[1].Data["script"]) {
		t.Error("equal values are kept twice")
	}
}

func TestCacheTrimsPods(t *testing.T) {
	var o cache.Options
	CacheOptions(&o)
	for obj, by := range o.ByObject {
		if _, ok := obj.(*corev1.Pod); !ok {
			continue
		}
		p := &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v"}}}}
		if _, err := by.Transform(p); err != nil || p.Spec.Volumes != nil {
			t.Errorf("got %v, error %v", p.Spec, err)
		}
		return
	}
	t.Error("no options for pods")
}
