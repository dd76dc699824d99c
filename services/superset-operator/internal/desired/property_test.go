package desired_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// specs generates any spec that the Go types can hold, valid or not.
var specs = rapid.MakeCustom[v1alpha1.SupersetSpec](rapid.MakeConfig{
	Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[resource.Quantity](): rapid.Map(rapid.Int64(), func(n int64) resource.Quantity {
			return *resource.NewQuantity(n, resource.DecimalSI)
		}).AsAny(),
		reflect.TypeFor[metav1.Duration](): rapid.Map(rapid.Int64(), func(n int64) metav1.Duration {
			return metav1.Duration{Duration: time.Duration(n)}
		}).AsAny(),
		reflect.TypeFor[metav1.Time](): rapid.Just(metav1.Time{}).AsAny(),
		reflect.TypeFor[runtime.RawExtension](): rapid.Map(
			rapid.SampledFrom([]string{"", "null", "{}", `{"a":1}`, "[1]", `"`, "{", "1 2"}),
			func(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }).AsAny(),
		// These types are large, and rendered unchanged.
		reflect.TypeFor[corev1.VolumeSource](): rapid.Just(corev1.VolumeSource{}).AsAny(),
		reflect.TypeFor[corev1.Affinity]():     rapid.Just(corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}).AsAny(),
		reflect.TypeFor[corev1.Container](): rapid.Map(rapid.SampledFrom(texts), func(name string) corev1.Container {
			return corev1.Container{Name: name}
		}).AsAny(),
		reflect.TypeFor[corev1.Probe](): rapid.Just(corev1.Probe{PeriodSeconds: 1}).AsAny(),
		// Most strings are short and from a small set, so that names collide.
		reflect.TypeFor[string](): rapid.OneOf(rapid.SampledFrom(texts), rapid.StringN(0, 8, -1)).AsAny(),
	},
})

var texts = []string{
	"", "a", "b", "superset", "superset-config", "websocket-config", "/app/pythonpath", "/a", "$(A)", "'", "\"", "{x}", "\n", "TCP",
	"app.kubernetes.io/instance", "superset.apache.org/config-checksum", "sync", "required",
}

// TestRenderRandomSpecs checks that rendering never fails, is deterministic, and does not change the spec.
func TestRenderRandomSpecs(t *testing.T) { rapid.Check(t, checkRendering) }

// FuzzRender generates a whole spec from bytes.
func FuzzRender(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkRendering)) }

func checkRendering(t *rapid.T) {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default", UID: "u"}}
	sup.Spec = specs.Draw(t, "spec")
	in := desired.Input{
		Superset: sup, Stopped: rapid.Bool().Draw(t, "stopped"),
		LastReplicas: map[string]int32{"web-server": rapid.Int32().Draw(t, "last")},
	}
	before := sup.DeepCopy()
	resolve.Validate(sup)
	first, err := desired.For(in)
	if err != nil {
		// The pod cannot be encoded as JSON, so the API server never accepts it.
		return
	}
	second, err := desired.For(in)
	if err != nil {
		t.Fatal(err)
	}
	// The exact comparison is slow, and only needed to report the difference.
	for i := range first.Components {
		a, b := &first.Components[i], &second.Components[i]
		for object, pair := range map[string][2]any{
			"fingerprint": {a.Checksum, b.Checksum}, "ConfigMap": {a.ConfigMap, b.ConfigMap}, "Deployment": {a.Deployment, b.Deployment},
			"Service": {a.Service, b.Service}, "autoscaler": {a.HPA, b.HPA}, "budget": {a.PDB, b.PDB},
		} {
			if !equality.Semantic.DeepEqual(pair[0], pair[1]) {
				t.Fatalf("rendering the %s of %s twice differs:\n%s", object, a.Slug, cmp.Diff(pair[0], pair[1], compareOptions))
			}
		}
	}
	if !equality.Semantic.DeepEqual(before, sup) {
		t.Fatalf("rendering changed the spec (-before +after):\n%s", cmp.Diff(before, sup, compareOptions))
	}
}

// FuzzRenderYAML starts with the golden cases, which random specs do not reach.
func FuzzRenderYAML(f *testing.F) {
	cases, err := filepath.Glob("testdata/*/superset.yaml")
	if err != nil || len(cases) == 0 {
		f.Fatalf("no cases found: %v", err)
	}
	for _, path := range cases {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		sup := &v1alpha1.Superset{}
		if yaml.Unmarshal(raw, sup) != nil {
			return
		}
		before := sup.DeepCopy()
		resolve.Validate(sup)
		if _, err := desired.For(desired.Input{Superset: sup}); err != nil {
			return
		}
		if !equality.Semantic.DeepEqual(before, sup) {
			t.Errorf("rendering changed the spec (-before +after):\n%s", cmp.Diff(before, sup, compareOptions))
		}
	})
}

// compareOptions compares rendered and resolved objects, without the functions of the descriptors.
var compareOptions = cmp.Options{
	cmp.Comparer(resource.Quantity.Equal),
	cmpopts.IgnoreFields(component.Descriptor{}, "Settings", "StatusRef"),
	cmpopts.IgnoreFields(resolve.TaskKind{}, "StatusRef"),
}

// TestW9RenderedObjectsShareNoMemory changes every value that is reachable from the objects of one component; the
// spec and the other components must stay unchanged, since an apply writes the response of the API server into the
// object.
func TestW9RenderedObjectsShareNoMemory(t *testing.T) {
	for _, name := range []string{"production", "production-full", "development-full", "hostile-full"} {
		sup := load(t, filepath.Join("testdata", name, "superset.yaml"))
		before := sup.DeepCopy()
		state, err := desired.For(desired.Input{Superset: sup})
		if err != nil {
			t.Fatal(err)
		}
		unchanged, err := desired.For(desired.Input{Superset: before.DeepCopy()})
		if err != nil {
			t.Fatal(err)
		}
		plan := resolve.For(sup, resolve.Options{})
		overwrite(reflect.ValueOf(&plan))
		if diff := cmp.Diff(before, sup, compareOptions); diff != "" {
			t.Fatalf("%s: the plan shares memory with the spec (-before +after):\n%s", name, diff)
		}
		for i := range state.Components {
			c := &state.Components[i]
			for _, object := range []any{c.ConfigMap, c.Deployment, c.Service, c.HPA, c.PDB} {
				overwrite(reflect.ValueOf(object))
			}
			if diff := cmp.Diff(before, sup, compareOptions); diff != "" {
				t.Fatalf("%s: an object of %s shares memory with the spec (-before +after):\n%s", name, c.Slug, diff)
			}
			if diff := cmp.Diff(unchanged.Plan, state.Plan, compareOptions); diff != "" {
				t.Fatalf("%s: an object of %s shares memory with the plan (-before +after):\n%s", name, c.Slug, diff)
			}
			for j := i + 1; j < len(state.Components); j++ {
				if diff := cmp.Diff(unchanged.Components[j].Deployment, state.Components[j].Deployment, compareOptions); diff != "" {
					t.Fatalf("%s: %s shares memory with %s:\n%s", name, c.Slug, state.Components[j].Slug, diff)
				}
			}
		}
	}
}

// overwrite changes every string, number and map that is reachable from v.
func overwrite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			overwrite(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				overwrite(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			overwrite(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String && v.Len() > 0 {
			for _, key := range v.MapKeys() {
				v.SetMapIndex(key, reflect.ValueOf("scribbled").Convert(v.Type().Elem()))
			}
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("scribbled")
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if v.CanSet() {
			v.SetInt(77)
		}
	case reflect.Bool:
		if v.CanSet() {
			v.SetBool(!v.Bool())
		}
	default:
	}
}

// BenchmarkPlan resolves, renders and fingerprints a full Superset.
func BenchmarkPlan(b *testing.B) {
	raw, err := os.ReadFile("testdata/production-full/superset.yaml")
	if err != nil {
		b.Fatal(err)
	}
	sup := &v1alpha1.Superset{}
	if err := yaml.UnmarshalStrict(raw, sup); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := desired.For(desired.Input{Superset: sup}); err != nil {
			b.Fatal(err)
		}
	}
}
