package apply_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
)

// fullTemplate returns a pod template with structs, maps, and lists with and without keys.
func fullTemplate(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"note": "1"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"disk": "ssd"},
			Tolerations:  []corev1.Toleration{{Key: "k", Operator: "Exists"}},
			Volumes:      []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{
				Name: "main", Image: "busybox:1", Args: []string{"sh", "-c"},
				Env:          []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
				Ports:        []corev1.ContainerPort{{ContainerPort: 80}, {Name: "dns", ContainerPort: 80, Protocol: "UDP"}},
				VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/tmp"}},
				ReadinessProbe: &corev1.Probe{
					ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("dns")}}, TimeoutSeconds: 3,
				},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
			}},
		},
	}
}

// Another client changes and removes every applied field, one at a time, as far as the
// API server allows it; the next apply must restore the field.
func TestApplyRepairsDriftOfAllFields(t *testing.T) {
	labels := map[string]string{"app": "x"}
	template := fullTemplate(labels)
	selector := &metav1.LabelSelector{MatchLabels: labels}
	tests := map[string]struct {
		desired  client.Object
		atLeast  int // changes that the API server must accept
		digested bool
	}{
		"deployment": {desired: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Paused: true, Replicas: new(int32(0)), Selector: selector, Template: template,
		}}, atLeast: 25},
		"statefulset": {desired: &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(0)), Selector: selector, Template: template, ServiceName: "x",
		}}, atLeast: 25},
		"service": {desired: &corev1.Service{Spec: corev1.ServiceSpec{
			Selector: labels, PublishNotReadyAddresses: true,
			Ports: []corev1.ServicePort{{Name: "a", Port: 80, TargetPort: intstr.FromString("http")}, {Name: "b", Port: 80, Protocol: "UDP", TargetPort: intstr.FromInt32(8080)}},
		}}, atLeast: 10},
		"configmap":          {desired: &corev1.ConfigMap{Data: map[string]string{"a": "1", "b": ""}}, atLeast: 4},
		"digested configmap": {desired: &corev1.ConfigMap{Data: map[string]string{"a": "1", "b": ""}}, atLeast: 4, digested: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := apitest.New(t)
			ns := apitest.Namespace(t)
			r := &repair{
				t: t, c: c, a: apply.New(c, manager), owner: apitest.Owner(t, c, ns, "owner"), desired: tc.desired, digested: tc.digested,
			}
			tc.desired.SetNamespace(ns)
			tc.desired.SetLabels(maps.Clone(labels))
			r.create("first")
			changes := mutations(r.live().Object, r.rendered())
			done := 0
			for i, change := range changes {
				r.create(fmt.Sprint("child-", i)) // a new one for each: items with changed keys stay
				if r.changeAndRepair(change) {
					done++
				}
				if err := c.Delete(t.Context(), r.live()); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d of %d changes got through", done, len(changes))
			if done < tc.atLeast {
				t.Errorf("only %d of %d changes got through, want at least %d", done, len(changes), tc.atLeast)
			}
		})
	}
}

type repair struct {
	t              *testing.T
	c              *apitest.Client
	a              *apply.Applier
	owner, desired client.Object
	digested       bool
}

func (r *repair) create(name string) {
	r.t.Helper()
	r.desired.SetName(name)
	mustApply(r.t, r.a, apply.Created, r.owner, r.copyOf(), nil)
}

func (r *repair) copyOf() client.Object { return r.desired.DeepCopyObject().(client.Object) }

func (r *repair) live() *unstructured.Unstructured {
	gvk, err := r.c.GroupVersionKindFor(r.desired)
	if err != nil {
		r.t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(r.desired.GetNamespace())
	u.SetName(r.desired.GetName())
	return apitest.Read(r.t, r.c, u)
}

func (r *repair) typedLive() client.Object {
	live := newOfType(r.desired)
	live.SetNamespace(r.desired.GetNamespace())
	live.SetName(r.desired.GetName())
	live = apitest.Read(r.t, r.c, live)
	if r.digested {
		return digestData(r.t, live)
	}
	return live
}

// rendered returns desired as JSON.
func (r *repair) rendered() map[string]any {
	raw, err := json.Marshal(r.desired)
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil {
		r.t.Fatal(err)
	}
	delete(out, "status")
	return out
}

// changeAndRepair returns false if the API server rejected or reverted the change.
func (r *repair) changeAndRepair(m mutation) bool {
	before := r.live()
	changed := before.DeepCopy()
	m.change(changed.Object)
	err := r.c.Update(r.t.Context(), changed, client.FieldOwner("somebody"))
	if apierrors.IsConflict(err) { // the object's own controller was faster
		return r.changeAndRepair(m)
	}
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return false
	}
	if err != nil {
		r.t.Fatalf("%s: %v", m.name, err)
	}
	if cmp.Equal(before.Object["spec"], changed.Object["spec"]) && cmp.Equal(before.Object["data"], changed.Object["data"]) &&
		cmp.Equal(before.GetLabels(), changed.GetLabels()) && cmp.Equal(before.GetOwnerReferences(), changed.GetOwnerReferences()) {
		return false
	}
	got, err := r.a.Object(r.t.Context(), r.owner, r.copyOf(), r.typedLive(), apply.WithAdoption())
	for errors.Is(err, apply.ErrStale) { // again, as a caller does
		got, err = r.a.Object(r.t.Context(), r.owner, r.copyOf(), r.typedLive(), apply.WithAdoption())
	}
	if err != nil || got != apply.Updated {
		r.t.Errorf("%s: got %s and %v, want Updated", m.name, got, err)
		return true
	}
	after := r.live()
	for _, part := range []string{"spec", "data"} {
		if diff := cmp.Diff(before.Object[part], after.Object[part]); diff != "" && !m.key {
			r.t.Errorf("%s: not repaired (-before +after):\n%s", m.name, diff)
		}
	}
	if got, err := r.a.Object(r.t.Context(), r.owner, r.copyOf(), r.typedLive()); err != nil || got != apply.Unchanged {
		r.t.Errorf("%s: after the repair got %s and %v, want Unchanged", m.name, got, err)
	}
	return true
}

// mutation changes one place of an object.
type mutation struct {
	name   string
	key    bool // changes the merge key of a list item: the changed item stays, owned by the other client
	change func(obj map[string]any)
}

// mutations lists a change and a removal for each place that desired sets, found in
// live by following field names and list positions.
func mutations(live, desired map[string]any) []mutation {
	var out []mutation
	var walk func(path []any, d, l any)
	walk = func(path []any, d, l any) {
		if len(path) > 1 && path[0] == "metadata" && path[1] != "labels" {
			return
		}
		if len(path) > 0 && path[len(path)-1] != "metadata" && path[0] != "apiVersion" && path[0] != "kind" {
			out = append(out, mutation{fmt.Sprint("remove ", path), isKey(path), func(obj map[string]any) { edit(obj, path, nil) }})
		}
		switch d := d.(type) {
		case map[string]any:
			lm, _ := l.(map[string]any)
			for _, k := range slices.Sorted(maps.Keys(d)) {
				walk(append(slices.Clip(path), k), d[k], lm[k])
			}
		case []any:
			ll, _ := l.([]any)
			for i := range min(len(d), len(ll)) {
				walk(append(slices.Clip(path), i), d[i], ll[i])
			}
		default:
			if other := otherValue(l); other != nil {
				out = append(out, mutation{fmt.Sprint("change ", path), isKey(path), func(obj map[string]any) { edit(obj, path, other) }})
			}
		}
	}
	walk(nil, desired, live)
	return out
}

func isKey(path []any) bool {
	if len(path) < 2 {
		return false
	}
	_, item := path[len(path)-2].(int)
	return item && slices.Contains([]any{"name", "mountPath", "containerPort", "port", "protocol"}, path[len(path)-1])
}

func otherValue(v any) any {
	switch v := v.(type) {
	case string:
		return v + "x"
	case int64:
		return v + 1
	case bool:
		return !v
	}
	return nil
}

// edit sets the value at path, or removes it when v is nil.
func edit(obj map[string]any, path []any, v any) {
	var at any = obj
	for i, step := range path {
		last := i == len(path)-1
		switch step := step.(type) {
		case string:
			m := at.(map[string]any)
			if last && v == nil {
				delete(m, step)
				return
			}
			if last {
				m[step] = v
				return
			}
			at = m[step]
		case int:
			l := at.([]any)
			if last && v == nil {
				// Replace the list by the shorter one.
				edit(obj, path[:i], append(append([]any{}, l[:step]...), l[step+1:]...))
				return
			}
			if last {
				l[step] = v
				return
			}
			at = l[step]
		}
	}
}
