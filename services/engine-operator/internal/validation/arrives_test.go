package validation_test

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/gateway"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

var images = render.Images{Engine: "engine:1", Web: "web:1", Metadata: "metadata:1", Postgres: "postgres:1"}

// fieldCase is a pod template field: its validation and its rendering.
type fieldCase struct {
	primary string
	check   func(*corev1.PodTemplateSpec) string
	render  func(*corev1.PodTemplateSpec) (corev1.PodTemplateSpec, error)
}

func engineOf(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass) (corev1.PodTemplateSpec, error) {
	r, err := resolve.Resolve(e, class, 1)
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	g, err := render.Of(render.Input{Engine: r, Images: images})
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	return g.StatefulSet.Spec.Template, nil
}

func engineWith(t *corev1.PodTemplateSpec) *v1alpha1.FireboltEngine {
	return &v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.FireboltEngineSpec{Template: t}}
}

func instanceWith(metadata, gateway *corev1.PodTemplateSpec) *v1alpha1.FireboltInstance {
	i := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	i.Spec.Metadata.Template, i.Spec.Gateway.Template = metadata, gateway
	return i
}

var fieldCases = map[string]fieldCase{
	"engine": {
		"engine",
		func(t *corev1.PodTemplateSpec) string {
			e := engineWith(t)
			return validation.Message(append(validation.EngineTemplate(e, nil), validation.EngineIgnored(e, nil)...))
		},
		func(t *corev1.PodTemplateSpec) (corev1.PodTemplateSpec, error) { return engineOf(engineWith(t), nil) },
	},
	"class": {
		"engine",
		func(t *corev1.PodTemplateSpec) string {
			c := &v1alpha1.FireboltEngineClass{Spec: v1alpha1.FireboltEngineClassSpec{Template: *t}}
			return validation.Message(append(validation.Class(c), validation.ClassIgnored(c)...))
		},
		func(t *corev1.PodTemplateSpec) (corev1.PodTemplateSpec, error) {
			return engineOf(engineWith(nil), &v1alpha1.FireboltEngineClass{Spec: v1alpha1.FireboltEngineClassSpec{Template: *t}})
		},
	},
	"metadata": {
		"metadata",
		func(t *corev1.PodTemplateSpec) string {
			i := instanceWith(t, nil)
			return validation.Message(append(validation.InstanceMetadata(i), validation.InstanceIgnored(i)...))
		},
		func(t *corev1.PodTemplateSpec) (corev1.PodTemplateSpec, error) {
			m, err := render.MetadataOf(instanceWith(t, nil), images, 1, netip.IPv4Unspecified())
			if err != nil {
				return corev1.PodTemplateSpec{}, err
			}
			return m.Deployment.Spec.Template, nil
		},
	},
	"gateway": {
		"envoy",
		func(t *corev1.PodTemplateSpec) string {
			i := instanceWith(nil, t)
			return validation.Message(append(validation.InstanceGateway(i), validation.InstanceIgnored(i)...))
		},
		func(t *corev1.PodTemplateSpec) (corev1.PodTemplateSpec, error) {
			g, err := gateway.Render(instanceWith(nil, t), "envoy:1", 2, netip.IPv4Unspecified())
			if err != nil {
				return corev1.PodTemplateSpec{}, err
			}
			return g.Deployment.Spec.Template, nil
		},
	},
}

// Every field that the rule table accepts without a warning is rendered completely: each field of
// a pod, of its metadata and of its main container is filled to the last leaf, and if it
// is valid it must be in the rendered pods.
func TestDefect11AllowedFieldsReachPods(t *testing.T) {
	for name, p := range fieldCases {
		t.Run(name, func(t *testing.T) {
			admitted := 0
			for _, f := range everyField(p.primary) {
				user := &corev1.PodTemplateSpec{}
				f.fill(user)
				if p.check(user) != "" {
					continue
				}
				admitted++
				got, err := p.render(user.DeepCopy())
				if err != nil {
					t.Fatal(err)
				}
				if diff := missing(f.of(user), f.of(&got)); diff != "" {
					t.Errorf("%s is admitted and does not arrive (-user +pods):\n%s", f.path, diff)
				}
			}
			if admitted < 20 {
				t.Errorf("only %d fields were admitted", admitted)
			}
		})
	}
}

// The other direction: fields that the operator omits, because their name or path
// is reserved, are rejected or cause a warning.
func TestDefect11OmittedFieldsAreReported(t *testing.T) {
	for name, p := range fieldCases {
		t.Run(name, func(t *testing.T) {
			own, err := p.render(&corev1.PodTemplateSpec{})
			if err != nil {
				t.Fatal(err)
			}
			reserved := map[string]*corev1.PodTemplateSpec{}
			for _, v := range own.Spec.Volumes {
				reserved["volume "+v.Name] = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: v.Name}}}}
			}
			for _, key := range slices.Collect(maps.Keys(own.Labels)) {
				reserved["label "+key] = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{key: "x"}}}
			}
			for _, c := range own.Spec.Containers {
				inner := func(c corev1.Container) *corev1.PodTemplateSpec {
					c.Name = p.primary
					return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
				}
				for _, e := range c.Env {
					reserved["env "+e.Name] = inner(corev1.Container{Env: []corev1.EnvVar{{Name: e.Name, Value: "x"}}})
				}
				for _, m := range c.VolumeMounts {
					reserved["mount "+m.MountPath] = inner(corev1.Container{VolumeMounts: []corev1.VolumeMount{{Name: "mine", MountPath: m.MountPath}}})
					reserved["mount of "+m.Name] = inner(corev1.Container{VolumeMounts: []corev1.VolumeMount{{Name: m.Name, MountPath: "/mine"}}})
				}
			}
			if len(reserved) < 4 {
				t.Fatalf("only %d things of the operator's found", len(reserved))
			}
			for field, template := range reserved {
				if p.check(template) == "" {
					t.Errorf("%s is the operator's, and a user's is admitted without a word", field)
				}
			}
		})
	}
}

// Kubernetes rejects pods in which two containers have the same name. Of valid templates, a pair is rejected only for that.
func TestContainerNamesAreUniqueInRenderedPods(t *testing.T) {
	var layers []corev1.PodTemplateSpec
	for _, name := range []string{"log", "engine", "engine-web"} {
		for list := range 4 {
			var t corev1.PodTemplateSpec
			if list&1 != 0 {
				t.Spec.Containers = []corev1.Container{{Name: name}}
			}
			if list&2 != 0 {
				t.Spec.InitContainers = []corev1.Container{{Name: name}}
			}
			layers = append(layers, t)
		}
	}
	for _, upper := range layers {
		for _, lower := range layers {
			e, class := engineWith(&upper), &v1alpha1.FireboltEngineClass{Spec: v1alpha1.FireboltEngineClassSpec{Template: lower}}
			if len(validation.EngineTemplate(e, nil))+len(validation.Class(class)) > 0 {
				continue
			}
			pods, err := engineOf(e, class)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			unique := true
			for _, c := range slices.Concat(pods.Spec.Containers, pods.Spec.InitContainers) {
				unique = unique && !seen[c.Name]
				seen[c.Name] = true
			}
			if errs := validation.EngineAll(e, class, nil, validation.Bounds{}); unique != (len(errs) == 0) {
				t.Errorf("engine %v over class %v: %v, unique names %t", upper.Spec, lower.Spec, errs, unique)
			}
		}
	}
}

// Bounds apply to the effective resources of the engine container, for any layers.
func TestBoundsCheckRenderedResources(t *testing.T) {
	list := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	layers := []*corev1.ResourceRequirements{
		nil,
		{},
		{Requests: corev1.ResourceList{}},
		{Requests: list("1")},
		{Requests: list("9")},
		{Limits: list("9")},
		{Requests: list("1"), Limits: list("9")},
		{Claims: []corev1.ResourceClaim{{Name: "x"}}},
	}
	template := func(r *corev1.ResourceRequirements) *corev1.PodTemplateSpec {
		if r == nil {
			return &corev1.PodTemplateSpec{}
		}
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Resources: *r}}}}
	}
	most := resource.MustParse("8")
	for i, upper := range layers {
		for j, lower := range layers {
			e, class := engineWith(template(upper)), &v1alpha1.FireboltEngineClass{Spec: v1alpha1.FireboltEngineClassSpec{Template: *template(lower)}}
			got, err := engineOf(e, class)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, in := range []corev1.ResourceList{got.Spec.Containers[0].Resources.Requests, got.Spec.Containers[0].Resources.Limits} {
				if q, ok := in[corev1.ResourceCPU]; ok && q.Cmp(most) > 0 {
					want++
				}
			}
			if errs := validation.EngineBounds(e, class, validation.Bounds{CPU: &most}); len(errs) != want {
				t.Errorf("engine %d over class %d: %v, want %d mistakes", i, j, errs, want)
			}
		}
	}
}
