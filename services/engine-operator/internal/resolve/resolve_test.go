package resolve

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubejson "k8s.io/apimachinery/pkg/util/json"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func raw(text string) *apiextensionsv1.JSON {
	if text == "" {
		return nil
	}
	return &apiextensionsv1.JSON{Raw: []byte(text)}
}

func TestConfigLayersMergeWithoutProtectedPaths(t *testing.T) {
	cases := map[string]struct{ class, engine, want string }{
		"neither layer":                                        {"", "", `null`},
		"objects merge, the engine wins":                       {`{"a":{"x":1,"y":1}}`, `{"a":{"y":2}}`, `{"a":{"x":1,"y":2}}`},
		"arrays are replaced":                                  {`{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`},
		"a scalar replaces an object":                          {`{"a":{"x":1}}`, `{"a":1}`, `{"a":1}`},
		"protected keys are removed from both layers":          {`{"instance":{"id":"x","region":"eu"}}`, `{"engine":{"nodes":[]},"schema_version":"9"}`, `{"instance":{"region":"eu"}}`},
		"a section left empty is removed":                      {`{"instance":{"id":"x"}}`, ``, `null`},
		"a protected section that is not an object is removed": {``, `{"instance":"x","engine":7,"a":1}`, `{"a":1}`},
		"a YAML merge key is removed at any depth":             {`{"<<":{"endpoints":1},"a":[{"<<":1}]}`, `{"instance":{"<<":{"auth":1}}}`, `{"a":[{}]}`},
		"integers keep their digits":                           {`{"a":9007199254740993}`, ``, `{"a":9007199254740993}`},
		"a protected section is removed as a whole":            {``, `{"endpoints":{"http":{}},"a":1}`, `{"a":1}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := mergeConfig(raw(tc.class), raw(tc.engine))
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := kubejson.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzMergeConfigNeverKeepsProtectedPaths(f *testing.F) {
	f.Add(`{"instance":{"id":1}}`, `{"engine":{"nodes":2,"x":3}}`)
	f.Fuzz(func(t *testing.T, class, engine string) {
		got, err := mergeConfig(raw(class), raw(engine))
		if err != nil {
			return
		}
		for section, keys := range protectedPaths {
			inner, isObject := got[section].(map[string]any)
			if _, there := got[section]; there && (keys == nil || !isObject) {
				t.Errorf("section %q survived", section)
			}
			for _, k := range keys {
				if _, there := inner[k]; there {
					t.Errorf("path %s.%s survived", section, k)
				}
			}
		}
	})
}

func TestMergeReplacesEntriesInPlace(t *testing.T) {
	env := func(pairs ...string) []corev1.EnvVar {
		var out []corev1.EnvVar
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
		}
		return out
	}
	got := Concat(env("A", "class", "B", "class"), env("B", "engine", "C", "engine", "A", "1", "A", "2"), EnvName)
	if diff := cmp.Diff(env("A", "2", "B", "engine", "C", "engine"), got); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
}

func TestScalarsFallThroughEngineThenClassThenDefault(t *testing.T) {
	class := &v1alpha1.FireboltEngineClass{Spec: v1alpha1.FireboltEngineClassSpec{
		Rollout: new(v1alpha1.RolloutRecreate), DrainCheckInterval: &metav1.Duration{Duration: time.Minute},
	}}
	cases := map[string]struct {
		spec  v1alpha1.FireboltEngineSpec
		class *v1alpha1.FireboltEngineClass
		want  Drain
	}{
		"the defaults":                   {v1alpha1.FireboltEngineSpec{}, nil, Drain{Skip: false, Interval: 5 * time.Second}},
		"the class":                      {v1alpha1.FireboltEngineSpec{}, class, Drain{Skip: true, Interval: time.Minute}},
		"the engine wins over the class": {v1alpha1.FireboltEngineSpec{Rollout: new(v1alpha1.RolloutGraceful)}, class, Drain{Skip: false, Interval: time.Minute}},
		"the check is switched off":      {v1alpha1.FireboltEngineSpec{DrainCheckEnabled: new(false)}, nil, Drain{Skip: true, Interval: 5 * time.Second}},
		"a timeout of the class holds": {
			v1alpha1.FireboltEngineSpec{DrainTimeout: &metav1.Duration{}},
			&v1alpha1.FireboltEngineClass{Spec: v1alpha1.FireboltEngineClassSpec{DrainTimeout: &metav1.Duration{Duration: time.Hour}}},
			Drain{Interval: 5 * time.Second, Timeout: time.Hour},
		},
		"a timeout of the engine wins": {
			v1alpha1.FireboltEngineSpec{DrainTimeout: &metav1.Duration{Duration: time.Minute}},
			&v1alpha1.FireboltEngineClass{Spec: v1alpha1.FireboltEngineClassSpec{DrainTimeout: &metav1.Duration{Duration: time.Hour}}},
			Drain{Interval: 5 * time.Second, Timeout: time.Minute},
		},
		"a tiny interval is raised":       {v1alpha1.FireboltEngineSpec{DrainCheckInterval: &metav1.Duration{Duration: 5 * time.Millisecond}}, nil, Drain{Interval: time.Second}},
		"a senseless interval is ignored": {v1alpha1.FireboltEngineSpec{DrainCheckInterval: &metav1.Duration{}}, nil, Drain{Interval: 5 * time.Second}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, DrainOf(&v1alpha1.FireboltEngine{Spec: tc.spec}, tc.class)); diff != "" {
				t.Errorf("drain (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRolloutFallsThroughEngineThenClassThenDefault(t *testing.T) {
	class := &v1alpha1.FireboltEngineClass{Spec: v1alpha1.FireboltEngineClassSpec{
		ProgressDeadline: &metav1.Duration{Duration: time.Hour}, AutomaticRollback: new(true),
	}}
	cases := map[string]struct {
		spec  v1alpha1.FireboltEngineSpec
		class *v1alpha1.FireboltEngineClass
		want  Rollout
	}{
		"the defaults": {v1alpha1.FireboltEngineSpec{}, nil, Rollout{Deadline: 15 * time.Minute}},
		"the class":    {v1alpha1.FireboltEngineSpec{}, class, Rollout{Deadline: time.Hour, Rollback: true}},
		"the engine wins over the class": {
			v1alpha1.FireboltEngineSpec{ProgressDeadline: &metav1.Duration{Duration: time.Minute}, AutomaticRollback: new(false)},
			class,
			Rollout{Deadline: time.Minute},
		},
		"zero switches the deadline off": {
			v1alpha1.FireboltEngineSpec{ProgressDeadline: &metav1.Duration{}}, class, Rollout{Rollback: true},
		},
		"a deadline in the past is none": {
			v1alpha1.FireboltEngineSpec{ProgressDeadline: &metav1.Duration{Duration: -1}}, nil, Rollout{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, RolloutOf(&v1alpha1.FireboltEngine{Spec: tc.spec}, tc.class)); diff != "" {
				t.Errorf("rollout (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHashesAreAbsentWithoutInput(t *testing.T) {
	got, err := Resolve(&v1alpha1.FireboltEngine{}, nil, 1)
	if err != nil || got.ConfigHash != "" || got.ClassHash != "" {
		t.Errorf("Resolve = %+v, %v", got, err)
	}
	got, err = Resolve(&v1alpha1.FireboltEngine{}, &v1alpha1.FireboltEngineClass{}, 1)
	if err != nil || len(got.ClassHash) != 16 {
		t.Errorf("class hash = %q, %v", got.ClassHash, err)
	}
}

func TestClassHashIgnoresHowUnsetFieldsAreWritten(t *testing.T) {
	short := template(t, `{spec: {containers: [{name: engine}]}}`)
	long := template(t, `{metadata: {labels: {}}, spec: {nodeSelector: {}, containers: [{name: engine, resources: {limits: {}}}]}}`)
	other := template(t, `{spec: {containers: [{name: engine, tty: true}]}}`)
	var hashes []string
	for _, of := range []*corev1.PodTemplateSpec{short, long, other} {
		h, err := templateHash(of)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, h)
	}
	if hashes[0] != hashes[1] || hashes[0] == hashes[2] {
		t.Errorf("hashes: %v", hashes)
	}
}
