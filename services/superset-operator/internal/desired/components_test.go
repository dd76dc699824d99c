package desired_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
)

// changed returns the names of the components and tasks whose fingerprints an edit of a full Superset changes;
// "shared" stands for status.configChecksum.
func changed(t *testing.T, edit func(*v1alpha1.SupersetSpec)) string {
	t.Helper()
	before, after := fingerprints(t, func(*v1alpha1.SupersetSpec) {}), fingerprints(t, edit)
	var out []string
	for _, name := range []string{
		"shared", "web-server", "celery-worker", "celery-beat", "celery-flower", "mcp-server", "websocket-server", "migrate", "init",
	} {
		if before[name] != after[name] {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

func fingerprints(t *testing.T, edit func(*v1alpha1.SupersetSpec)) map[string]string {
	t.Helper()
	sup := load(t, "testdata/production-full/superset.yaml")
	edit(&sup.Spec)
	state, err := desired.For(desired.Input{Superset: sup})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"shared": state.ConfigChecksum}
	for i := range state.Components {
		c := &state.Components[i]
		out[c.Slug] = c.Checksum
		if got := c.Deployment.Spec.Template.Annotations[v1alpha1.AnnotationConfigChecksum]; got != c.Checksum {
			t.Errorf("the pods of %s have checksum %q, want %q", c.Slug, got, c.Checksum)
		}
	}
	for _, task := range state.Tasks {
		out[task.Slug] = task.Checksum
	}
	return out
}

const (
	allPython = "web-server celery-worker celery-beat celery-flower mcp-server"
	allPods   = "shared " + allPython + " init"
)

type changeCase struct {
	edit func(*v1alpha1.SupersetSpec)
	want string
}

func checkChanges(t *testing.T, cases map[string]changeCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, changed(t, tc.edit)); diff != "" {
				t.Errorf("changed fingerprints differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestW10ComponentSettingsRollOneComponent checks that settings of one component roll only its pods and run no task.
func TestW10ComponentSettingsRollOneComponent(t *testing.T) {
	checkChanges(t, map[string]changeCase{
		"nothing":            {func(*v1alpha1.SupersetSpec) {}, ""},
		"gunicorn's timeout": {func(s *v1alpha1.SupersetSpec) { s.WebServer.Gunicorn.Timeout = new(int32(99)) }, "web-server"},
		"gunicorn's workers change the pool": {
			func(s *v1alpha1.SupersetSpec) { s.WebServer.Gunicorn.Workers = new(int32(99)) }, "web-server",
		},
		"celery's concurrency changes the pool": {
			func(s *v1alpha1.SupersetSpec) { s.CeleryWorker.Celery.Concurrency = new(int32(99)) }, "celery-worker",
		},
		"the limits of celery are in the command": {
			func(s *v1alpha1.SupersetSpec) { s.CeleryWorker.Celery.TimeLimit = new(int32(99)) }, "",
		},
		"own Python": {func(s *v1alpha1.SupersetSpec) { s.CeleryBeat.Config = new("A = 1") }, "celery-beat"},
		"own bootstrap": {
			func(s *v1alpha1.SupersetSpec) { s.CeleryFlower.BootstrapScript = new("true") }, "celery-flower",
		},
		"own pool": {
			func(s *v1alpha1.SupersetSpec) { s.MCPServer.SQLAEngineOptions.PoolSize = new(int32(2)) }, "mcp-server",
		},
		"the websocket server's Secret": {
			func(s *v1alpha1.SupersetSpec) { s.WebsocketServer.ConfigFrom.Name = "other" }, "websocket-server",
		},
		"the websocket server's key": {
			func(s *v1alpha1.SupersetSpec) { s.WebsocketServer.ConfigFrom.Key = "other" }, "websocket-server",
		},
		"replicas, autoscaling and budgets": {func(s *v1alpha1.SupersetSpec) {
			s.Replicas, s.Autoscaling, s.PodDisruptionBudget, s.WebServer.Autoscaling = nil, nil, nil, nil
		}, ""},
	})
}

func TestSharedSettingsRollAllPods(t *testing.T) {
	checkChanges(t, map[string]changeCase{
		"shared Python": {func(s *v1alpha1.SupersetSpec) { s.Config = new("A = 1") }, allPods},
		"a shared bootstrap does not affect the worker, which has its own": {
			func(s *v1alpha1.SupersetSpec) { s.BootstrapScript = new("true") },
			"shared web-server celery-beat celery-flower mcp-server migrate init",
		},
		"a feature flag":          {func(s *v1alpha1.SupersetSpec) { s.FeatureFlags["THUMBNAILS"] = true }, allPods},
		"the cache server's host": {func(s *v1alpha1.SupersetSpec) { s.Valkey.Host = "other" }, allPods},
		"the cache server's user": {func(s *v1alpha1.SupersetSpec) { s.Valkey.Username = nil }, allPods},
		"the cache server's password": {
			func(s *v1alpha1.SupersetSpec) { s.Valkey.PasswordFrom.Key = "other" }, allPods,
		},
		"a cache's prefix":   {func(s *v1alpha1.SupersetSpec) { s.Valkey.DataCache.KeyPrefix = new("x") }, allPods},
		"a cache's database": {func(s *v1alpha1.SupersetSpec) { s.Valkey.DataCache.Database = new(int32(13)) }, allPods},
		"a cache's timeout":  {func(s *v1alpha1.SupersetSpec) { s.Valkey.Cache.DefaultTimeout = new(int32(1)) }, allPods},
		"a disabled cache": {
			func(s *v1alpha1.SupersetSpec) {
				s.Valkey.FilterStateCache = &v1alpha1.ValkeyCacheSpec{Disabled: new(true)}
			}, allPods,
		},
		"the broker's database":       {func(s *v1alpha1.SupersetSpec) { s.Valkey.CeleryBroker.Database = new(int32(14)) }, allPods},
		"the results' prefix":         {func(s *v1alpha1.SupersetSpec) { s.Valkey.ResultsBackend.KeyPrefix = new("x") }, allPods},
		"the certificate requirement": {func(s *v1alpha1.SupersetSpec) { s.Valkey.SSL.CertRequired = new("none") }, allPods},
		"no cache server":             {func(s *v1alpha1.SupersetSpec) { s.Valkey = nil }, allPods},
	})
}

// TestInlineSecretsRollPods checks that inline secrets are part of the checksum, since they change no other field of
// the pods.
func TestInlineSecretsRollPods(t *testing.T) {
	sum := func(edit func(*v1alpha1.SupersetSpec)) map[string]string {
		sup := load(t, "testdata/development-full/superset.yaml")
		edit(&sup.Spec)
		state, err := desired.For(desired.Input{Superset: sup})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{"shared": state.ConfigChecksum}
		for i := range state.Components {
			out[state.Components[i].Slug] = state.Components[i].Checksum
		}
		return out
	}
	before := sum(func(*v1alpha1.SupersetSpec) {})
	for name, edit := range map[string]func(*v1alpha1.SupersetSpec){
		"secret key":        func(s *v1alpha1.SupersetSpec) { s.SecretKey = new("other") },
		"previous key":      func(s *v1alpha1.SupersetSpec) { s.PreviousSecretKey = new("other") },
		"metastore":         func(s *v1alpha1.SupersetSpec) { s.Metastore.URI = new("sqlite:////other") },
		"Valkey's password": func(s *v1alpha1.SupersetSpec) { s.Valkey.Password = new("other") },
	} {
		after := sum(edit)
		for slug := range before {
			if rolls := before[slug] != after[slug]; rolls != (slug != "websocket-server") {
				t.Errorf("%s changes %s: %v", name, slug, rolls)
			}
		}
	}
}

func TestWebsocketServerConfiguration(t *testing.T) {
	component := func(edit func(*v1alpha1.WebsocketServerSpec)) *desired.Component {
		sup := load(t, "testdata/development-full/superset.yaml")
		sup.Spec.WebServer, sup.Spec.CeleryWorker, sup.Spec.CeleryBeat, sup.Spec.CeleryFlower, sup.Spec.MCPServer = nil, nil, nil, nil, nil
		edit(sup.Spec.WebsocketServer)
		state, err := desired.For(desired.Input{Superset: sup})
		if err != nil {
			t.Fatal(err)
		}
		return &state.Components[0]
	}
	inline := func(text string) *desired.Component {
		return component(func(w *v1alpha1.WebsocketServerSpec) { w.Config = &runtime.RawExtension{Raw: []byte(text)} })
	}
	base, reordered, other := inline(`{"a":1,"b":2}`), inline(`{ "b": 2, "a": 1 }`), inline(`{"a":1,"b":3}`)
	if base.Checksum != reordered.Checksum || base.Checksum == other.Checksum {
		t.Error("the fingerprint does not match the content of the document")
	}
	if got, want := base.ConfigMap.Data["config.json"], "{\n  \"a\": 1,\n  \"b\": 2\n}\n"; got != want {
		t.Errorf("config.json is %q, want %q", got, want)
	}
	unset := component(func(w *v1alpha1.WebsocketServerSpec) { w.Config = nil })
	fromSecret := component(func(w *v1alpha1.WebsocketServerSpec) {
		w.Config, w.ConfigFrom = nil, &corev1.SecretKeySelector{Key: "k"}
	})
	for name, c := range map[string]*desired.Component{"none": unset, "from a Secret": fromSecret} {
		if c.ConfigMap != nil {
			t.Errorf("%s: a ConfigMap exists", name)
		}
	}
	if unset.Checksum != "" || fromSecret.Checksum == "" || len(unset.Deployment.Spec.Template.Spec.Volumes) != 0 {
		t.Errorf("fingerprints %q and %q", unset.Checksum, fromSecret.Checksum)
	}
}

// TestW11StoppedAutoscaledComponents checks that stopped components keep their autoscaler, which does nothing at zero
// replicas.
func TestW11StoppedAutoscaledComponents(t *testing.T) {
	sup := load(t, "testdata/production-full/superset.yaml")
	in := desired.Input{Superset: sup, LastReplicas: map[string]int32{"web-server": 7, "celery-worker": 1}}
	for _, stopped := range []bool{true, false} {
		in.Stopped = stopped
		state, err := desired.For(in)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int32{
			"web-server": 7, "celery-worker": 2, "celery-beat": 1, "celery-flower": 1, "mcp-server": 2, "websocket-server": 2,
		}
		for i := range state.Components {
			c := &state.Components[i]
			if stopped {
				want[c.Slug] = 0
			}
			if got := *c.Deployment.Spec.Replicas; got != want[c.Slug] || got != c.Replicas {
				t.Errorf("stopped %v: %s has %d replicas, want %d", stopped, c.Slug, got, want[c.Slug])
			}
			if (c.HPA != nil) != (c.Slug != "celery-beat") || (c.PDB != nil) != (c.Slug != "celery-beat") {
				t.Errorf("%s: autoscaler %v, budget %v", c.Slug, c.HPA != nil, c.PDB != nil)
			}
		}
	}
}
