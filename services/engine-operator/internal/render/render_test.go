package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

var update = flag.Bool("update", false, "write the golden files")

var images = Images{
	Engine: "example.com/engine:1.0", Web: "example.com/web:1.0",
	Metadata: "example.com/metadata:1.0", Postgres: "postgres:16-alpine", Gateway: "envoyproxy/envoy:v1.40.0",
}

// read loads a manifest of testdata, strictly.
func read[T any](t testing.TB, path string) *T {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := yaml.UnmarshalStrict(raw, out); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return out
}

func golden(t *testing.T, path string, objects ...any) {
	t.Helper()
	var b bytes.Buffer
	for _, o := range objects {
		raw, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n")
		b.Write(raw)
	}
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update)", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func input(t testing.TB, dir string) Input {
	t.Helper()
	e := read[v1alpha1.FireboltEngine](t, filepath.Join(dir, "engine.yaml"))
	var class *v1alpha1.FireboltEngineClass
	if e.Spec.EngineClassRef != nil {
		class = read[v1alpha1.FireboltEngineClass](t, filepath.Join(dir, "class.yaml"))
	}
	resolved, err := resolve.Resolve(e, class, e.Spec.Replicas)
	if err != nil {
		t.Fatal(err)
	}
	return Input{
		Engine: resolved, Images: images, Generation: 3,
		Instance: Instance{ID: "01J9ZZZZZZZZZZZZZZZZZZZZZZ", Endpoint: "shop-metadata.default.svc.cluster.local:7000"},
	}
}

func TestGenerationMatchesGoldenFile(t *testing.T) {
	for _, name := range []string{"minimal", "layered"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", name)
			g, err := Of(input(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(dir, "generation.golden.yaml"),
				g.Config, g.Headless, g.StatefulSet, Cluster("default", "shop-engine", 3))
		})
	}
}

func TestFingerprintIgnoresGenerationNumber(t *testing.T) {
	in := input(t, "testdata/layered")
	first, err := Fingerprint(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Generation = 17
	second, err := Fingerprint(in)
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("fingerprints of generations 3 and 17: %s, %s", first, second)
	}
}

// compareMinimal compares an edited generation with the rendering of an edited input.
func compareMinimal(t *testing.T, editLive func(*Generation), editInput func(*Input)) engine.Match {
	t.Helper()
	live, err := Of(input(t, "testdata/minimal"))
	if err != nil {
		t.Fatal(err)
	}
	if editLive != nil {
		editLive(&live)
	}
	in := input(t, "testdata/minimal")
	if editInput != nil {
		editInput(&in)
	}
	desired, err := Of(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Compare(desired, live.StatefulSet, true)
	if err != nil {
		t.Fatalf("Compare = %v, %v", got, err)
	}
	return got
}

func TestCompareDetectsRenderedFields(t *testing.T) {
	cases := map[string]struct {
		live func(*Generation)
		in   func(*Input)
		want engine.Match
	}{
		"the same rendering": {want: engine.Same},
		"another metadata endpoint": {
			in: func(in *Input) { in.Instance.Endpoint = "elsewhere:7000" }, want: engine.Differs,
		},
		"another image": {
			in: func(in *Input) { in.Images.Engine = "example.com/engine:2.0" }, want: engine.Differs,
		},
		"other replicas": {
			in: func(in *Input) { in.Engine.Replicas = 5 }, want: engine.Differs,
		},
		"an edited probe": {
			live: func(g *Generation) { g.StatefulSet.Spec.Template.Spec.Containers[0].ReadinessProbe.PeriodSeconds = 9 }, want: engine.Differs,
		},
		"an edited command": {
			live: func(g *Generation) { g.StatefulSet.Spec.Template.Spec.Containers[0].Args[0] = "sleep 1" }, want: engine.Differs,
		},
		"an added variable": {
			live: func(g *Generation) {
				c := &g.StatefulSet.Spec.Template.Spec.Containers[0]
				c.Env = append(c.Env, c.Env[0])
			}, want: engine.Differs,
		},
		"an added node selector": {
			live: func(g *Generation) { g.StatefulSet.Spec.Template.Spec.NodeSelector = map[string]string{"a": "b"} }, want: engine.Differs,
		},
		"an added annotation of the pods": {
			live: func(g *Generation) {
				g.StatefulSet.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
			}, want: engine.Differs,
		},
		"defaults of the API server": {
			live: func(g *Generation) {
				s := &g.StatefulSet.Spec
				s.Template.Spec.RestartPolicy = "Always"
				s.Template.Spec.Containers[0].TerminationMessagePath = "/dev/termination-log"
				s.RevisionHistoryLimit = new(int32)
			}, want: engine.Same,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := compareMinimal(t, tc.live, tc.in); got != tc.want {
				t.Errorf("Compare = %v; want %v", got, tc.want)
			}
		})
	}
}

// TestDatabasePullPolicyIgnoresDevTag checks that the database has the default pull policy of Kubernetes, which is not
// configurable.
func TestDatabasePullPolicyIgnoresDevTag(t *testing.T) {
	for image, want := range map[string]string{
		"postgres:dev": "IfNotPresent", "postgres:16-alpine": "IfNotPresent", "postgres": "Always", "postgres:latest": "Always",
	} {
		if got := string(postgresContainer("credentials", image).ImagePullPolicy); got != want {
			t.Errorf("pull policy of %s = %s, want %s", image, got, want)
		}
	}
}

func TestPullPolicyFollowsTag(t *testing.T) {
	for image, want := range map[string]string{
		"engine": "Always", "engine:latest": "Always", "host:5000/engine": "Always", "engine:dev": "Always",
		"engine:1.2": "IfNotPresent", "host:5000/engine:1.2": "IfNotPresent", "engine@sha256:00": "IfNotPresent",
	} {
		if got := string(pullPolicy(image)); got != want {
			t.Errorf("pullPolicy(%q) = %s, want %s", image, got, want)
		}
	}
}
