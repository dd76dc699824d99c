package integration

import (
	"maps"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

type (
	values  = map[string][]any
	content = map[string]any
)

// templateValues are the parts of random templates: testdata/templates.yaml.
type templateValues struct {
	Pod            values `json:"pod"`
	PodLists       values `json:"podLists"`
	Container      values `json:"container"`
	ContainerLists values `json:"containerLists"`
	Sidecar        values `json:"sidecar"`
	SidecarLists   values `json:"sidecarLists"`
	Storage        []any  `json:"storage"`
	Config         []any  `json:"config"`
}

func readTemplateValues(t *testing.T) templateValues {
	t.Helper()
	raw, err := os.ReadFile("testdata/templates.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out templateValues
	if err := yaml.UnmarshalStrict(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// layers generates a class and an engine.
func (in templateValues) layers(t *rapid.T) (*v1alpha1.FireboltEngineClass, *v1alpha1.FireboltEngine) {
	class := &v1alpha1.FireboltEngineClass{}
	class.Name = "class"
	in.template(t, "class", &class.Spec.Template)
	// Volumes that mounts, devices and claims refer to always exist.
	spec := &class.Spec.Template.Spec
	spec.ResourceClaims = append(spec.ResourceClaims, corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: new("z")})
	for _, name := range []string{"m1", "m2"} {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "block", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "b"},
	}})
	class.Spec.CustomEngineConfig = in.config(t, "class config")

	e := &v1alpha1.FireboltEngine{}
	e.Name, e.Spec.InstanceRef = "e", "shop"
	e.Spec.UISidecar = new(rapid.Bool().Draw(t, "web interface"))
	e.Spec.CustomEngineConfig = in.config(t, "engine config")
	into(t, rapid.SampledFrom(in.Storage).Draw(t, "storage"), &e.Spec.Storage)
	if rapid.Bool().Draw(t, "override") {
		e.Spec.MetadataEndpointOverride = new("elsewhere:7000")
	}
	e.Spec.Template = &corev1.PodTemplateSpec{}
	in.template(t, "engine", e.Spec.Template)
	return class, e
}

func (in templateValues) config(t *rapid.T, label string) *apiextensionsv1.JSON {
	var out apiextensionsv1.JSON
	into(t, rapid.SampledFrom(in.Config).Draw(t, label), &out)
	return &out
}

func (in templateValues) template(t *rapid.T, label string, out *corev1.PodTemplateSpec) {
	spec := fields(t, label, in.Pod)
	lists(t, label, in.PodLists, spec)
	spec["containers"] = []any{in.container(t, label, "engine", nil, nil), in.container(t, label, "agent", in.Sidecar, in.SidecarLists)}
	helper := in.container(t, label, "helper", in.Sidecar, in.SidecarLists)
	helper["restartPolicy"] = "Always"
	first := in.container(t, label, "first", nil, in.SidecarLists)
	delete(first, "lifecycle") // invalid on containers that end
	delete(first, "resizePolicy")
	spec["initContainers"] = []any{first, helper}
	meta := content{}
	for _, key := range []string{"labels", "annotations"} {
		meta[key] = rapid.SampledFrom([]any{nil, content{}, content{"team": label, "empty": ""}}).Draw(t, label+" "+key)
	}
	into(t, content{"metadata": meta, "spec": spec}, out)
}

func (in templateValues) container(t *rapid.T, label, name string, more, moreLists values) content {
	label += " " + name
	out := fields(t, label, in.Container)
	lists(t, label, in.ContainerLists, out)
	maps.Copy(out, fields(t, label, more))
	lists(t, label, moreLists, out)
	out["name"] = name
	if name != "engine" && out["image"] == nil {
		out["image"] = "example.com/sidecar:latest"
	}
	return out
}

// fields generates some of the fields, each with one of its values.
func fields(t *rapid.T, label string, pool values) content {
	out := content{}
	for _, name := range slices.Sorted(maps.Keys(pool)) {
		of := pool[name]
		if i := rapid.IntRange(0, 2*len(of)-1).Draw(t, label+" "+name); i < len(of) {
			out[name] = of[i]
		}
	}
	return out
}

// lists generates up to four entries of each list, also absent and empty lists.
func lists(t *rapid.T, label string, pool values, out content) {
	for _, name := range slices.Sorted(maps.Keys(pool)) {
		if n := rapid.IntRange(-1, 4).Draw(t, label+" "+name); n >= 0 {
			out[name] = rapid.SliceOfN(rapid.SampledFrom(pool[name]), n, n).Draw(t, label+" "+name+" entries")
		}
	}
}

func into(t *rapid.T, from, out any) {
	if err := convert(from, out); err != nil {
		t.Fatalf("%v", err)
	}
}
