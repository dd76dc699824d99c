package resolve

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// FuzzMerge builds two templates from bytes and checks the invariants of a merge: the keys of each list are unique,
// all entries of the upper layer exist, entries of the lower layer keep their order, merging the upper layer again
// changes nothing, and both layers stay unchanged.
func FuzzMerge(f *testing.F) {
	f.Add([]byte{}, []byte{})
	f.Add([]byte("aaaa"), []byte("aaaa"))
	f.Add([]byte("abcdefgh01234567"), []byte("hgfedcba76543210"))
	f.Add([]byte{0, 1, 2, 3, 0, 1, 2, 3}, []byte{3, 3, 3, 3, 2, 2, 2, 2})
	f.Fuzz(func(t *testing.T, lower, upper []byte) {
		base, over := podFrom(lower, "base"), podFrom(upper, "over")
		wantBase, wantOver := base.DeepCopy(), over.DeepCopy()
		merged := podTemplate(base, over)
		for list, keys := range keyedLists(&merged) {
			seen := map[string]bool{}
			for _, key := range keys {
				if seen[key] {
					t.Errorf("%s has %s twice: %v", list, key, keys)
				}
				seen[key] = true
			}
			for _, key := range slices.Concat(keyedLists(base)[list], keyedLists(over)[list]) {
				if !seen[key] {
					t.Errorf("%s lost %s", list, key)
				}
			}
		}
		for i, p := range merged.Container.Ports {
			if slices.ContainsFunc(merged.Container.Ports[i+1:], func(q corev1.ContainerPort) bool { return samePort(p, q) }) {
				t.Errorf("port %d occurs twice: %v", p.ContainerPort, merged.Container.Ports)
			}
		}
		for _, e := range merged.Container.Env {
			if slices.ContainsFunc(over.Container.Env, func(o corev1.EnvVar) bool { return o.Name == e.Name }) && e.Value != "over" {
				t.Errorf("variable %s comes from the lower layer", e.Name)
			}
		}
		again := podTemplate(&merged, &v1alpha1.PodTemplate{
			Labels: over.Labels, Volumes: over.Volumes, Sidecars: over.Sidecars, InitContainers: over.InitContainers,
			HostAliases: over.HostAliases, TopologySpreadConstraints: over.TopologySpreadConstraints,
			Container: &v1alpha1.ContainerTemplate{
				Env: over.Container.Env, VolumeMounts: over.Container.VolumeMounts, Ports: over.Container.Ports,
			},
		})
		// The command of a layer applies to that layer only, so the merge does not inherit it.
		again.Container.Command, again.Container.Args = merged.Container.Command, merged.Container.Args
		if diff := cmp.Diff(merged, again); diff != "" {
			t.Errorf("merging twice differs (-once +twice):\n%s", diff)
		}
		if diff := cmp.Diff([]*v1alpha1.PodTemplate{wantBase, wantOver}, []*v1alpha1.PodTemplate{base, over}); diff != "" {
			t.Errorf("merging changed its inputs (-before +after):\n%s", diff)
		}
	})
}

// podFrom builds a template from bytes, with a few names per list, so that layers collide.
func podFrom(data []byte, layer string) *v1alpha1.PodTemplate {
	p := &v1alpha1.PodTemplate{Labels: map[string]string{}, Container: &v1alpha1.ContainerTemplate{}}
	c := p.Container
	for i, b := range data {
		name := fmt.Sprintf("n%d", b%5)
		other := fmt.Sprintf("n%d", b/5%5)
		switch i % 9 {
		case 0:
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: layer})
		case 1:
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + other})
		case 2:
			port := corev1.ContainerPort{ContainerPort: 1 + int32(b%4), Protocol: []corev1.Protocol{"", "TCP", "UDP"}[b/4%3]}
			if b > 128 {
				port.Name = other
			}
			c.Ports = append(c.Ports, port)
		case 3:
			p.Volumes = append(p.Volumes, corev1.Volume{Name: name})
		case 4:
			p.Sidecars = append(p.Sidecars, corev1.Container{Name: name, Image: layer})
		case 5:
			p.InitContainers = append(p.InitContainers, corev1.Container{Name: name, Image: layer})
		case 6:
			p.HostAliases = append(p.HostAliases, corev1.HostAlias{IP: name, Hostnames: []string{layer}})
		case 7:
			p.TopologySpreadConstraints = append(p.TopologySpreadConstraints, corev1.TopologySpreadConstraint{TopologyKey: name})
		case 8:
			p.Labels[name] = layer
		}
	}
	return p
}

// keyedLists returns the keys by which server-side apply identifies the entries of each list.
func keyedLists(p *v1alpha1.PodTemplate) map[string][]string {
	return map[string][]string{
		"env":            keys(p.Container.Env, func(e corev1.EnvVar) string { return e.Name }),
		"mounts":         keys(p.Container.VolumeMounts, func(m corev1.VolumeMount) string { return m.MountPath }),
		"volumes":        keys(p.Volumes, func(v corev1.Volume) string { return v.Name }),
		"sidecars":       keys(p.Sidecars, containerName),
		"initContainers": keys(p.InitContainers, containerName),
		"hostAliases":    keys(p.HostAliases, func(h corev1.HostAlias) string { return h.IP }),
		"spread":         keys(p.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) string { return c.TopologyKey }),
	}
}

func keys[T any](list []T, key func(T) string) []string {
	var out []string
	for _, item := range list {
		out = append(out, key(item))
	}
	return out
}

// TestPortsStayUnique merges ports that collide by name and by number: a merge may drop ports, but must not leave
// duplicates.
func TestPortsStayUnique(t *testing.T) {
	cases := map[string]struct{ base, over, want []corev1.ContainerPort }{
		"W9: ports without a name are all kept": {
			base: []corev1.ContainerPort{{ContainerPort: 1}, {ContainerPort: 2}}, over: []corev1.ContainerPort{{ContainerPort: 3}},
			want: []corev1.ContainerPort{{ContainerPort: 1}, {ContainerPort: 2}, {ContainerPort: 3}},
		},
		"the same number in another protocol is another port": {
			base: []corev1.ContainerPort{{ContainerPort: 1, Protocol: "UDP"}}, over: []corev1.ContainerPort{{ContainerPort: 1}},
			want: []corev1.ContainerPort{{ContainerPort: 1, Protocol: "UDP"}, {ContainerPort: 1}},
		},
		"a name moves to another number": {
			base: []corev1.ContainerPort{{Name: "http", ContainerPort: 1}, {ContainerPort: 2}},
			over: []corev1.ContainerPort{{Name: "http", ContainerPort: 2}},
			want: []corev1.ContainerPort{{Name: "http", ContainerPort: 2}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, mergePorts(tc.base, tc.over)); diff != "" {
				t.Errorf("ports differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestW9VolumeIsMountedTwice mounts a volume at two paths.
func TestW9VolumeIsMountedTwice(t *testing.T) {
	got := MergeMounts(
		[]corev1.VolumeMount{{Name: "v", MountPath: "/a"}, {Name: "v", MountPath: "/b"}},
		[]corev1.VolumeMount{{Name: "w", MountPath: "/a"}})
	want := []corev1.VolumeMount{{Name: "w", MountPath: "/a"}, {Name: "v", MountPath: "/b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mounts differ (-want +got):\n%s", diff)
	}
}

func TestW9ListsWithSpareRoomAreNotShared(t *testing.T) {
	tolerations := make([]corev1.Toleration, 1, 8)
	tolerations[0].Key = "top"
	top := &v1alpha1.PodTemplate{Tolerations: tolerations}
	one := podTemplate(top, &v1alpha1.PodTemplate{Tolerations: []corev1.Toleration{{Key: "one"}}})
	two := podTemplate(top, &v1alpha1.PodTemplate{Tolerations: []corev1.Toleration{{Key: "two"}}})
	for want, got := range map[string][]corev1.Toleration{"one": one.Tolerations, "two": two.Tolerations} {
		if len(got) != 2 || got[0].Key != "top" || got[1].Key != want {
			t.Errorf("%s: %v", want, got)
		}
	}
}

func TestMergeRules(t *testing.T) {
	minutes := func(n int64) *int64 { return &n }
	base := &v1alpha1.PodTemplate{
		Annotations: map[string]string{"a": "top", "b": "top"}, NodeSelector: map[string]string{"pool": "top", "zone": "top"},
		TerminationGracePeriodSeconds: minutes(1), PriorityClassName: new("top"),
		PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: minutes(1), RunAsNonRoot: new(true)},
		Container: &v1alpha1.ContainerTemplate{
			Command: []string{"top"}, Args: []string{"top"}, EnvFrom: []corev1.EnvFromSource{{Prefix: "top"}},
			LivenessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(1)}}},
			Lifecycle:     &corev1.Lifecycle{},
		},
	}
	over := &v1alpha1.PodTemplate{
		Annotations: map[string]string{"b": "own"}, NodeSelector: map[string]string{"pool": "own"},
		TerminationGracePeriodSeconds: minutes(2), PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: minutes(2)},
		Container: &v1alpha1.ContainerTemplate{
			Args: []string{"own"}, EnvFrom: []corev1.EnvFromSource{{Prefix: "own"}}, LivenessProbe: &corev1.Probe{PeriodSeconds: 2},
		},
	}
	want := v1alpha1.PodTemplate{
		Annotations: map[string]string{"a": "top", "b": "own"}, NodeSelector: map[string]string{"pool": "own", "zone": "top"},
		TerminationGracePeriodSeconds: minutes(2), PriorityClassName: new("top"),
		PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: minutes(2)},
		Container: &v1alpha1.ContainerTemplate{
			Args: []string{"own"}, EnvFrom: []corev1.EnvFromSource{{Prefix: "top"}, {Prefix: "own"}},
			LivenessProbe: &corev1.Probe{PeriodSeconds: 2}, Lifecycle: &corev1.Lifecycle{},
		},
	}
	if diff := cmp.Diff(want, podTemplate(base, over)); diff != "" {
		t.Errorf("template differs (-want +got):\n%s", diff)
	}
}

func TestMergeDropsReservedKeys(t *testing.T) {
	labels := map[string]string{v1alpha1.LabelTask: "migrate", v1alpha1.LabelParent: "mine", "own": "yes"}
	before := maps.Clone(labels)
	if got := userLabels(nil, labels); len(got) != 1 || got["own"] != "yes" {
		t.Errorf("labels %v", got)
	}
	if !maps.Equal(before, labels) {
		t.Error("the user's labels were changed")
	}
	if got := userLabels(map[string]string{v1alpha1.LabelTask: "migrate"}); got != nil {
		t.Errorf("an empty map is rendered: %v", got)
	}
}
