package render_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// TestRenderedPythonRuns runs the Python of every workload of every golden case.
func TestRenderedPythonRuns(t *testing.T) {
	cases, err := filepath.Glob("../desired/testdata/*/superset.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	var names []string
	var programs []program
	for _, path := range cases {
		name := filepath.Base(filepath.Dir(path))
		for slug, p := range pythons(t, name) {
			names, programs = append(names, name+"/"+slug), append(programs, p)
		}
	}
	for i, got := range runAll(t, programs) {
		if want := programs[i].Env["SUPERSET_OPERATOR__SECRET_KEY"]; got["SECRET_KEY"] != want {
			t.Errorf("%s: secret key %q, want %q", names[i], got["SECRET_KEY"], want)
		}
	}
	t.Logf("ran %d files", len(programs))
}

// pythons returns the programs of all workloads of a case, by name.
func pythons(t *testing.T, name string) map[string]program {
	t.Helper()
	out := map[string]program{}
	plan := resolve.For(load(t, name), resolve.Options{})
	for i := range plan.Components {
		if c := &plan.Components[i]; c.Descriptor.Python {
			out[c.Slug] = program{pyconfig.Config(&c.Python), expand(render.Deployment(c, "sum").Spec.Template.Spec.Containers[0].Env)}
		}
	}
	for i := range plan.Tasks {
		task := &plan.Tasks[i]
		if task.Kind.Type == resolve.Clone.Type {
			continue
		}
		job, err := render.Job(task, "sum", 1)
		if err != nil {
			t.Fatal(err)
		}
		out[task.Slug] = program{pyconfig.Config(&task.Python), expand(job.Spec.Template.Spec.Containers[0].Env)}
	}
	return out
}

func TestHostileValuesAreUnchanged(t *testing.T) {
	sup := load(t, "hostile-full")
	got := runAll(t, []program{pythons(t, "hostile-full")["web-server"]})[0]
	host, login := "cache\"'`id`$(HOME)", "us%3Aer%40evil%2F%7BSECRET_KEY%7D%0A:"+
		"p%40ss%2Fw%3Ard%2520%20%24%24%28HOME%29%60id%60%22%27%5C%F0%9F%92%A5@"
	uri := "mysql+pymysql://us%3Aer%40evil%0A%27%22:p%40ss%2Fw%3Ard%2520%24%28HOME%29%60id%60%7Bx%7D%C3%BC%E2%80%A8%27%22" +
		"@db\"'`id`$(HOME):3306/super/set%24x=1&y=#2 {SECRET_KEY}"
	ca := *sup.Spec.Valkey.SSL.CACertFile
	tls := map[string]any{"ssl_cert_reqs": "none", "ssl_check_hostname": false, "ssl_ca_certs": ca}
	want := map[string]any{
		"SECRET_KEY": *sup.Spec.SecretKey, "PREVIOUS_SECRET_KEY": *sup.Spec.PreviousSecretKey,
		"SECRET_KEY_FALLBACKS":    []any{*sup.Spec.PreviousSecretKey},
		"SQLALCHEMY_DATABASE_URI": uri, "SUPERSET_WEBSERVER_TIMEOUT": 60.0,
		"SQLALCHEMY_ENGINE_OPTIONS": map[string]any{
			"pool_size": 1.0, "max_overflow": -1.0, "pool_recycle": 3600.0, "pool_pre_ping": false,
			"connect_args": map[string]any{"connect_timeout": 10.0}, "isolation_level": "READ COMMITTED",
		},
		"WEBDRIVER_BASEURL": "http://hostile-web-server:8088/", "WEBDRIVER_BASEURL_USER_FRIENDLY": "http://hostile-web-server:8088/",
		"RATELIMIT_APPLICATION": nil,
		"FEATURE_FLAGS":         flags(sup.Spec.FeatureFlags),
		"RAW":                   "it's {x} $HOME `id` \U0001F4A5\u2028", "WEB": "\"{x}\"",
		"CELERY_CONFIG": map[string]any{
			"broker_url": "rediss://" + login + host + ":6379/0", "broker_use_ssl": tls,
			"result_backend": "rediss://" + login + host + ":6379/0", "redis_backend_use_ssl": tls,
			"redis_socket_connect_timeout": 5.0, "redis_socket_timeout": 30.0, "beat_schedule": "Superset's",
			"broker_transport_options": map[string]any{"socket_connect_timeout": 5.0, "socket_timeout": 30.0, "socket_keepalive": true},
		},
		"RESULTS_BACKEND": map[string]any{
			"host": host, "port": 6379.0, "username": *sup.Spec.Valkey.Username, "password": *sup.Spec.Valkey.Password,
			"db": 6.0, "key_prefix": "hostile_" + *sup.Spec.Valkey.ResultsBackend.KeyPrefix,
			"ssl": true, "ssl_cert_reqs": "none", "ssl_check_hostname": false, "ssl_ca_certs": ca, "socket_connect_timeout": 5.0, "socket_timeout": 15.0,
		},
	}
	for setting, prefix := range map[string]*string{
		"CACHE_CONFIG": sup.Spec.Valkey.Cache.KeyPrefix, "DATA_CACHE_CONFIG": sup.Spec.Valkey.DataCache.KeyPrefix,
		"FILTER_STATE_CACHE_CONFIG":       sup.Spec.Valkey.FilterStateCache.KeyPrefix,
		"EXPLORE_FORM_DATA_CACHE_CONFIG":  sup.Spec.Valkey.ExploreFormDataCache.KeyPrefix,
		"THUMBNAIL_CACHE_CONFIG":          sup.Spec.Valkey.ThumbnailCache.KeyPrefix,
		"DISTRIBUTED_COORDINATION_CONFIG": sup.Spec.Valkey.DistributedCoordination.KeyPrefix,
	} {
		cache := got[setting].(map[string]any)
		if cache["CACHE_KEY_PREFIX"] != "hostile_"+*prefix {
			t.Errorf("%s has prefix %q, want %q", setting, cache["CACHE_KEY_PREFIX"], "hostile_"+*prefix)
		}
		delete(got, setting)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings differ (-want +got):\n%s", diff)
	}
}

func flags(set map[string]bool) map[string]any {
	out := map[string]any{}
	for name, on := range set {
		out[name] = on
	}
	return out
}

// TestProductionSettings checks the differences between the components.
func TestProductionSettings(t *testing.T) {
	all := pythons(t, "production-full")
	slugs := slices.Sorted(maps.Keys(all))
	connectArgs := map[string]any{"connect_timeout": 10.0}
	null := map[string]any{"poolclass": "NullPool", "connect_args": connectArgs}
	pool := func(size float64) map[string]any {
		return map[string]any{"pool_size": size, "max_overflow": -1.0, "pool_recycle": 3600.0, "pool_pre_ping": false, "connect_args": connectArgs}
	}
	mcp := pool(5)
	mcp["pool_timeout"] = 10.0
	want := map[string]map[string]any{
		"web-server": pool(8), "celery-worker": pool(8), "celery-beat": null, "celery-flower": pool(1),
		"mcp-server": mcp, "preflight": null, "migrate": null, "init": null,
	}
	var programs []program
	for _, slug := range slugs {
		programs = append(programs, all[slug])
	}
	for i, got := range runAll(t, programs) {
		slug := slugs[i]
		if diff := cmp.Diff(any(want[slug]), got["SQLALCHEMY_ENGINE_OPTIONS"]); diff != "" {
			t.Errorf("pool of %s differs (-want +got):\n%s", slug, diff)
		}
		if timeout := got["SUPERSET_WEBSERVER_TIMEOUT"]; (timeout == 60.0) != (slug == "web-server") {
			t.Errorf("%s: web server's timeout: %v", slug, timeout)
		}
		if _, found := got["MCP_JWT_ALGORITHM"]; found != (slug == "mcp-server") {
			t.Errorf("%s: Python of the MCP server: %v", slug, found)
		}
		if _, required := got["MCP_AUTH_FACTORY"]; required != (slug == "mcp-server") {
			t.Errorf("%s: requires authentication of MCP: %v", slug, required)
		}
		celery := got["CELERY_CONFIG"].(map[string]any)
		if celery["broker_url"] != "rediss://superset:superset%2Fvalkey-password@valkey.bi.svc:6380/10" {
			t.Errorf("%s: broker %v", slug, celery["broker_url"])
		}
	}
}
