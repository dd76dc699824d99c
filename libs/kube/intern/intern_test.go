package intern

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
)

// deployment is a Deployment with values in each part that is shared. Each string is allocated separately.
func deployment(label, command, managed string) *appsv1.Deployment {
	labels := func() map[string]string { return map[string]string{strings.Clone("app"): strings.Clone(label)} }
	probe := func() *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{command}}}}
	}
	container := func() []corev1.Container {
		return []corev1.Container{{LivenessProbe: probe(), ReadinessProbe: probe(), StartupProbe: probe()}, {Name: "without probes"}}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Labels: labels(), ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "a", FieldsV1: metav1.NewFieldsV1(managed)}, {Manager: "without fields"},
		}},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels()},
			Spec:       corev1.PodSpec{InitContainers: container(), Containers: container()},
		}},
	}
}

// parts are the addresses of the shared parts.
func parts(d *appsv1.Deployment) map[string]any {
	spec := d.Spec.Template.Spec
	return map[string]any{
		"label":                unsafe.StringData(d.Labels["app"]),
		"label of pods":        unsafe.StringData(d.Spec.Template.Labels["app"]),
		"managed fields":       d.ManagedFields[0].FieldsV1,
		"init container probe": spec.InitContainers[0].StartupProbe,
		"liveness probe":       spec.Containers[0].LivenessProbe,
		"readiness probe":      spec.Containers[0].ReadinessProbe,
		"startup probe":        spec.Containers[0].StartupProbe,
	}
}

func transform(t *testing.T, d *appsv1.Deployment) map[string]any {
	t.Helper()
	want := d.DeepCopy()
	for range 2 { // informers transform some objects twice
		if _, err := Transform(d); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("the content changed (-before +after):\n%s", diff)
	}
	return parts(d)
}

func TestTransformSharesEqualParts(t *testing.T) {
	first := deployment("a", "b", `{"f:spec":{}}`)
	equal, other := deployment("a", "b", `{"f:spec":{}}`), deployment("c", "d", `{"f:metadata":{}}`)
	want := transform(t, first)
	equalParts, otherParts := transform(t, equal), transform(t, other)
	for name := range want {
		if equalParts[name] != want[name] {
			t.Errorf("%s: equal values are not shared", name)
		}
		if otherParts[name] == want[name] {
			t.Errorf("%s: different values are shared", name)
		}
	}
	runtime.KeepAlive(first)
}

func TestTransformKeepsOtherObjects(t *testing.T) {
	for _, obj := range []any{&corev1.Service{}, cache.DeletedFinalStateUnknown{Key: "n/a"}} {
		got, err := Transform(obj)
		if err != nil || !cmp.Equal(got, obj) {
			t.Errorf("got %v and error %v, want %v", got, err, obj)
		}
	}
}

func TestPoolForgetsUnusedValues(t *testing.T) {
	var p pool[corev1.Probe]
	used := p.shared([]byte("used"), &corev1.Probe{PeriodSeconds: 1})
	p.shared([]byte("unused"), &corev1.Probe{PeriodSeconds: 2})
	err := await.Nil(t.Context(), time.Minute, time.Millisecond, func(context.Context) error {
		runtime.GC()
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.values) != 1 {
			return fmt.Errorf("the pool has %d values, want 1", len(p.values))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if got := p.shared([]byte("used"), &corev1.Probe{}); got != used {
		t.Error("a value in use was forgotten")
	}
	runtime.KeepAlive(used)
}
