package validation

import (
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// components lists all components with their names in docs/templates.md.
var components = []struct {
	component
	title, at string
}{
	{engineRules, "Engine and class", "spec.template"},
	{gatewayRules, "Gateway", "spec.gateway.template"},
	{metadataRules, "Metadata", "spec.metadata.template"},
}

// A field in none of the sets gets the warning for fields without effect. This is
// safe, but unintended: a new version of the Kubernetes libraries
// fails here until its fields are classified.
func TestDefect11FieldsAreInOneSet(t *testing.T) {
	tables := map[string]struct {
		of   any
		sets fields
	}{
		"metadata": {metav1.ObjectMeta{}, metadataFields},
		"pod":      {corev1.PodSpec{}, podFields},
	}
	for _, c := range components {
		tables["container "+c.primary] = struct {
			of   any
			sets fields
		}{corev1.Container{}, c.container}
	}
	for name, table := range tables {
		t.Run(name, func(t *testing.T) {
			want := jsonNames(reflect.TypeOf(table.of))
			got := slices.Concat(table.sets.allowed, table.sets.owned, table.sets.unused)
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fields of %T (-Kubernetes +rule table):\n%s", table.of, diff)
			}
		})
	}
}

func jsonNames(of reflect.Type) []string {
	var out []string
	for field := range of.Fields() {
		out = append(out, jsonName(field))
	}
	return out
}

// A field of a newer Kubernetes is reported.
func TestDefect11UnknownFieldIsReported(t *testing.T) {
	future := &struct {
		Old string   `json:"old,omitempty"`
		New string   `json:"new,omitempty"`
		Nil []string `json:"nil,omitempty"`
	}{Old: "x", New: "y", Nil: []string{}}
	got := paths(fields{allowed: []string{"old"}}.ignored(templatePath, future))
	if diff := cmp.Diff([]string{"spec.template.new"}, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// Every place in a volume that can hold the name of a Secret is checked.
func TestVolumeSecretsAreFound(t *testing.T) {
	v := &corev1.VolumeSource{}
	want := setField(reflect.ValueOf(v).Elem(), nil)
	if len(want) < 11 {
		t.Fatalf("only %d places found: the search is broken", len(want))
	}
	var got []string
	for _, e := range (protected{"stolen"}).volume(templatePath, v) {
		got = append(got, strings.TrimPrefix(e.Field, templatePath.String()+"."))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places that name a Secret (-there +checked):\n%s", diff)
	}
}

// setField sets the name "stolen" wherever a volume source can refer to a Secret, and returns
// the paths: fields whose name contains Secret and that are a name or a reference.
func setField(v reflect.Value, at []string) []string {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return setField(v.Elem(), at)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			return nil
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		at = append(slices.Clone(at[:len(at)-1]), at[len(at)-1]+"[0]")
		return setField(v.Index(0), at)
	case reflect.String:
		if name := at[len(at)-1]; name == "secretName" || name == "name" && insideSecret(at) {
			v.SetString("stolen")
			return []string{strings.Join(at, ".")}
		}
	case reflect.Struct:
		var out []string
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || f.Type == reflect.TypeFor[*corev1.EphemeralVolumeSource]() {
				continue // a claim refers to no Secret
			}
			entryPath := at
			if name := jsonName(f); name != "" {
				entryPath = append(slices.Clone(at), name)
			}
			out = append(out, setField(v.Field(i), entryPath)...)
		}
		return out
	}
	return nil
}

func insideSecret(at []string) bool {
	return len(at) > 1 && strings.Contains(strings.ToLower(at[len(at)-2]), "secret")
}

func TestShapesAreWellFormed(t *testing.T) {
	shapes := slices.Clone(protectedShapes)
	for _, c := range components {
		shapes = append(shapes, c.volumes...)
		for _, s := range c.secret {
			if !slices.Contains(c.volumes, s) {
				t.Errorf("%s: secret volume %q is not among the operator's volumes", c.title, s)
			}
		}
	}
	for _, s := range shapes {
		if _, err := path.Match(s, "x"); err != nil {
			t.Errorf("shape %q: %v", s, err)
		}
	}
}

func TestProtectedShapes(t *testing.T) {
	for name, want := range map[string]bool{
		"shop-auth-signing": true, "shop-auth-signing-signing-2": true, "shop-auth-signing-1": true,
		"a-g0-engine-tls": true, "a-b-g117-engine-tls": true, "shop-metadata-postgres-creds": true,
		"auth-signing": false, "shop-auth": false, "a-gold-engine-tls": false, "engine-tls": false,
		"my-postgres-creds": false, "shop-auth-signingx": false,
	} {
		if got := protected(nil).holds(name); got != want {
			t.Errorf("protected %q = %v, want %v", name, got, want)
		}
	}
}
