package render_test

import (
	"bytes"
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
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// driver runs each superset_config.py as Superset would and prints its settings as JSON. SQLAlchemy and cachelib are
// stubs with the names that the file may import. A results backend is printed as its arguments, a class as its
// fields.
const driver = `
import json, os, sys, types
class RedisCache:
    def __init__(self, **options): self.options = options
def stand_in(name, **content):
    module = types.ModuleType(name); vars(module).update(content); sys.modules[name] = module
stand_in("sqlalchemy"); stand_in("sqlalchemy.pool", NullPool="NullPool")
class Celery:
    beat_schedule = "Superset's"
stand_in("superset"); stand_in("superset.config", CeleryConfig=Celery)
signal = types.SimpleNamespace(connect=lambda *a, **k: None)
signals = types.SimpleNamespace(worker_ready=signal, heartbeat_sent=signal, beat_init=signal)
stand_in("celery", signals=signals)
stand_in("cachelib"); stand_in("cachelib.redis", RedisCache=RedisCache)
def plain(value):
    if isinstance(value, RedisCache): return value.options
    if isinstance(value, type): return {k: getattr(value, k) for k in dir(value) if not k.startswith("__")}
    if isinstance(value, types.FunctionType): return value.__name__
    raise TypeError(value)
results = []
for case in json.load(sys.stdin):
    os.environ.clear(); os.environ.update(case["env"])
    scope = {}
    exec(compile(case["config"], "superset_config.py", "exec"), scope)
    results.append({k: v for k, v in scope.items() if k.isupper() and k != "RedisCache"})
print(json.dumps(results, default=plain))
`

func TestRenderedPythonMatchesSpec(t *testing.T) {
	cases := map[string]struct {
		superset string
		workload string
		want     map[string]any
	}{
		"plain values": {
			superset: "development", workload: "web-server",
			want: map[string]any{
				"SECRET_KEY":                 "not-a-secret-in-development",
				"SQLALCHEMY_DATABASE_URI":    "postgresql+psycopg2://superset:superset@postgres:5432/superset",
				"SUPERSET_WEBSERVER_TIMEOUT": 60.0,
				"SQLALCHEMY_ENGINE_OPTIONS": map[string]any{
					"pool_size": 1.0, "max_overflow": -1.0, "pool_recycle": 3600.0, "pool_pre_ping": false,
					"connect_args": map[string]any{"connect_timeout": 10.0},
				},
				"FEATURE_FLAGS": map[string]any{"ENABLE_TEMPLATE_PROCESSING": true},
			},
		},
		"values that try to escape the quotes": {
			superset: "hostile", workload: "celery-worker",
			want: map[string]any{
				"SECRET_KEY":          "$(HOME) $$ `id` \"'\n\\ {SECRET_KEY}",
				"PREVIOUS_SECRET_KEY": "old $(SECRET)",
				"SQLALCHEMY_DATABASE_URI": "postgresql+asyncpg://us%3Aer%40evil:" +
					"p%40ss%2Fw%3Ard%2520%24%28HOME%29%C3%BC%E2%80%A8%27%22@db:5432/super/set$x=1&y=#2",
				"SECRET_KEY_FALLBACKS":      []any{"old $(SECRET)"},
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
				"SQLALCHEMY_ENGINE_OPTIONS": map[string]any{"poolclass": "NullPool", "connect_args": map[string]any{"connect_timeout": 10.0}},
				"FEATURE_FLAGS":             map[string]any{"ENABLE_TEMPLATE_PROCESSING": true},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config, env := rendered(t, tc.superset, tc.workload)
			got := run(t, config, env)
			removeSharedSettings(t, got, load(t, tc.superset).Name)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("settings differ (-want +got):\n%s", diff)
			}
		})
	}
}

// removeSharedSettings checks and removes the settings that all workloads of a Superset have.
func removeSharedSettings(t *testing.T, got map[string]any, superset string) {
	t.Helper()
	for setting, want := range map[string]any{
		"WEBDRIVER_BASEURL":               "http://" + superset + "-web-server:8088/",
		"WEBDRIVER_BASEURL_USER_FRIENDLY": "http://" + superset + "-web-server:8088/",
		"RATELIMIT_APPLICATION":           nil,
	} {
		if got[setting] != want {
			t.Errorf("%s is %v, want %v", setting, got[setting], want)
		}
		delete(got, setting)
	}
}

// rendered returns a workload's superset_config.py and its environment as the kubelet would set it.
func rendered(t *testing.T, superset, workload string) (string, map[string]string) {
	t.Helper()
	plan := resolve.For(load(t, superset), resolve.Options{})
	for i := range plan.Components {
		if c := &plan.Components[i]; c.Slug == workload {
			return pyconfig.Config(&c.Python), expand(render.Deployment(c, "sum").Spec.Template.Spec.Containers[0].Env)
		}
	}
	for i := range plan.Tasks {
		if task := &plan.Tasks[i]; task.Slug == workload {
			job, err := render.Job(task, "sum", 1)
			if err != nil {
				t.Fatal(err)
			}
			return pyconfig.Config(&task.Python), expand(job.Spec.Template.Spec.Containers[0].Env)
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

// expand expands values like the kubelet: two dollar signs become one, $(NAME) is a reference. A value from a Secret
// is shown as "name/key".
func expand(env []corev1.EnvVar) map[string]string {
	out := map[string]string{}
	for _, e := range env {
		if e.ValueFrom != nil {
			out[e.Name] = e.ValueFrom.SecretKeyRef.Name + "/" + e.ValueFrom.SecretKeyRef.Key
			continue
		}
		value := []byte{}
		for i := 0; i < len(e.Value); i++ {
			value = append(value, e.Value[i])
			if e.Value[i] == '$' && i+1 < len(e.Value) && e.Value[i+1] == '$' {
				i++
			}
		}
		out[e.Name] = string(value)
	}
	return out
}

// program is a superset_config.py with the environment that it runs in.
type program struct {
	Config string            `json:"config"`
	Env    map[string]string `json:"env"`
}

func run(t *testing.T, config string, env map[string]string) map[string]any {
	t.Helper()
	return runAll(t, []program{{config, env}})[0]
}

// runAll runs all programs in one interpreter, since its start takes longer than the programs.
func runAll(t *testing.T, programs []program) []map[string]any {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("this test runs the rendered Python with the real interpreter: install python3 (Debian: apt-get install python3-minimal)")
	}
	input, err := json.Marshal(programs)
	if err != nil {
		t.Fatal(err)
	}
	var errors bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python, "-I", "-c", driver)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, errors.String(), input)
	}
	var got []map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return got
}
