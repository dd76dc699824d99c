package render_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// driver runs a superset_config.py as Superset would and prints its settings as
// JSON. SQLAlchemy is a stand-in with the one name that the file may import.
const driver = `
import json, sys, types
pool = types.ModuleType("sqlalchemy.pool"); pool.NullPool = "NullPool"
sys.modules["sqlalchemy"] = types.ModuleType("sqlalchemy"); sys.modules["sqlalchemy.pool"] = pool
scope = {}
exec(compile(open(sys.argv[1], encoding="utf-8").read(), "superset_config.py", "exec"), scope)
print(json.dumps({k: v for k, v in scope.items() if k.isupper()}))
`

func TestRenderedPythonMeansWhatTheSpecSays(t *testing.T) {
	cases := map[string]struct {
		superset string
		workload string
		want     map[string]any
	}{
		"plain values": {
			superset: "development", workload: "web-server",
			want: map[string]any{
				"SECRET_KEY":                "not-a-secret-in-development",
				"SQLALCHEMY_DATABASE_URI":   "postgresql+psycopg2://superset:superset@postgres:5432/superset",
				"SQLALCHEMY_EXAMPLES_URI":   "postgresql+psycopg2://superset:superset@postgres:5432/superset",
				"SUPERSET_WEBSERVER_PORT":   8088.0,
				"SQLALCHEMY_ENGINE_OPTIONS": map[string]any{"pool_size": 1.0, "max_overflow": -1.0, "pool_recycle": 3600.0, "pool_pre_ping": false},
				"FEATURE_FLAGS":             map[string]any{"ENABLE_TEMPLATE_PROCESSING": true},
			},
		},
		"values that try to break out": {
			superset: "hostile", workload: "celery-worker",
			want: map[string]any{
				"SECRET_KEY":          "$(HOME) $$ `id` \"'\n\\ {SECRET_KEY}",
				"PREVIOUS_SECRET_KEY": "old $(SECRET)",
				"SQLALCHEMY_DATABASE_URI": "postgresql+asyncpg://us%3Aer%40evil:" +
					"p%40ss%2Fw%3Ard%2520%24%28HOME%29%C3%BC%E2%80%A8%27%22@db:5432/super%2Fset%3Fx%3D1%26y%3D%232",
				"SQLALCHEMY_EXAMPLES_URI": "postgresql+asyncpg://us%3Aer%40evil:" +
					"p%40ss%2Fw%3Ard%2520%24%28HOME%29%C3%BC%E2%80%A8%27%22@db:5432/super%2Fset%3Fx%3D1%26y%3D%232",
				"SQLALCHEMY_ENGINE_OPTIONS": map[string]any{"pool_size": 1.0, "max_overflow": -1.0, "pool_recycle": 3600.0, "pool_pre_ping": false},
				"FEATURE_FLAGS": map[string]any{
					"QUOTE'\"\n__import__('os').system('true')#": true, "\U0001F4A5": false, "back\\slash": true,
				},
			},
		},
		"a task keeps no connection": {
			superset: "development", workload: "migrate",
			want: map[string]any{
				"SECRET_KEY":                "not-a-secret-in-development",
				"SQLALCHEMY_DATABASE_URI":   "postgresql+psycopg2://superset:superset@postgres:5432/superset",
				"SQLALCHEMY_EXAMPLES_URI":   "postgresql+psycopg2://superset:superset@postgres:5432/superset",
				"SQLALCHEMY_ENGINE_OPTIONS": map[string]any{"poolclass": "NullPool"},
				"FEATURE_FLAGS":             map[string]any{"ENABLE_TEMPLATE_PROCESSING": true},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config, env := rendered(t, tc.superset, tc.workload)
			got := run(t, config, env)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("settings differ (-want +got):\n%s", diff)
			}
		})
	}
}

// rendered returns a workload's superset_config.py and its environment as the kubelet would set it.
func rendered(t *testing.T, superset, workload string) (string, []string) {
	t.Helper()
	plan := resolve.For(load(t, superset), resolve.Options{})
	for i := range plan.Components {
		if c := &plan.Components[i]; c.Word == workload {
			return render.Config(&c.Python), expand(render.Deployment(c, "sum").Spec.Template.Spec.Containers[0].Env)
		}
	}
	for i := range plan.Tasks {
		if task := &plan.Tasks[i]; task.Word == workload {
			job, err := render.Job(task, "sum", 1)
			if err != nil {
				t.Fatal(err)
			}
			return render.Config(&task.Python), expand(job.Spec.Template.Spec.Containers[0].Env)
		}
	}
	t.Fatalf("no workload %q", workload)
	return "", nil
}

func load(t *testing.T, name string) *v1alpha1.Superset {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "desired", "testdata", name, "superset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sup := &v1alpha1.Superset{}
	if err := yaml.UnmarshalStrict(raw, sup); err != nil {
		t.Fatal(err)
	}
	return sup
}

// expand reads values as the kubelet does: two dollar signs make one, $(NAME) is a reference.
func expand(env []corev1.EnvVar) []string {
	var out []string
	for _, e := range env {
		value := []byte{}
		for i := 0; i < len(e.Value); i++ {
			value = append(value, e.Value[i])
			if e.Value[i] == '$' && i+1 < len(e.Value) && e.Value[i+1] == '$' {
				i++
			}
		}
		out = append(out, e.Name+"="+string(value))
	}
	return out
}

func run(t *testing.T, config string, env []string) map[string]any {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("this test runs the rendered Python with the real interpreter: install python3 (Debian: apt-get install python3-minimal)")
	}
	path := filepath.Join(t.TempDir(), "superset_config.py")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-I", "-c", driver, path)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, config)
	}
	got := map[string]any{}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return got
}
