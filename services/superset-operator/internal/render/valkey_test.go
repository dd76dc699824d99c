package render_test

import (
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// settings renders a worker with the given Valkey section and runs its Python.
func settings(t *testing.T, v *v1alpha1.ValkeySpec) map[string]any {
	t.Helper()
	return runAll(t, []program{worker(v)})[0]
}

func worker(v *v1alpha1.ValkeySpec) program {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "sales", Namespace: "bi"}}
	sup.Spec = v1alpha1.SupersetSpec{SecretKey: new("key"), Valkey: v, CeleryWorker: &v1alpha1.CeleryWorkerSpec{}}
	c := resolve.For(sup, resolve.Options{}).Components[0]
	env := render.Deployment(&c, "sum").Spec.Template.Spec.Containers[0].Env
	return program{pyconfig.Config(&c.Python), expand(env)}
}

func TestValkeyDefaults(t *testing.T) {
	got := settings(t, &v1alpha1.ValkeySpec{Host: "valkey"})
	cache := func(database, prefix string, timeout float64) map[string]any {
		return map[string]any{
			"CACHE_TYPE": "RedisCache", "CACHE_DEFAULT_TIMEOUT": timeout,
			"CACHE_KEY_PREFIX": "sales_" + prefix, "CACHE_REDIS_URL": "redis://valkey:6379/" + database + "?socket_connect_timeout=5&socket_timeout=15",
		}
	}
	refreshed := func(cache map[string]any) map[string]any {
		cache["REFRESH_TIMEOUT_ON_RETRIEVAL"] = true
		return cache
	}
	coordination := cache("7", "coordination_", 300)
	coordination["CACHE_REDIS_HOST"], coordination["CACHE_REDIS_PORT"], coordination["CACHE_REDIS_DB"] = "valkey", 6379.0, 7.0
	coordination["CACHE_REDIS_USER"], coordination["CACHE_REDIS_PASSWORD"] = nil, nil
	want := map[string]any{
		"SECRET_KEY":                      "key",
		"CACHE_CONFIG":                    cache("1", "superset_", 300),
		"DATA_CACHE_CONFIG":               cache("2", "superset_data_", 86400),
		"FILTER_STATE_CACHE_CONFIG":       refreshed(cache("3", "superset_filter_", 7776000)),
		"EXPLORE_FORM_DATA_CACHE_CONFIG":  refreshed(cache("4", "superset_explore_", 604800)),
		"THUMBNAIL_CACHE_CONFIG":          cache("5", "superset_thumbnail_", 604800),
		"DISTRIBUTED_COORDINATION_CONFIG": coordination,
		"CELERY_CONFIG": map[string]any{
			"broker_url": "redis://valkey:6379/0", "result_backend": "redis://valkey:6379/0", "beat_schedule": "Superset's",
			"broker_transport_options":     map[string]any{"socket_connect_timeout": 5.0, "socket_timeout": 30.0, "socket_keepalive": true},
			"redis_socket_connect_timeout": 5.0, "redis_socket_timeout": 30.0,
		},
		"RESULTS_BACKEND": map[string]any{
			"host": "valkey", "port": 6379.0, "username": nil, "password": nil, "db": 6.0, "key_prefix": "sales_superset_results_",
			"socket_connect_timeout": 5.0, "socket_timeout": 15.0,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings differ (-want +got):\n%s", diff)
	}
}

func TestDisabledValkeySectionsAreOmitted(t *testing.T) {
	disabled := new(true)
	cache, celery := &v1alpha1.ValkeyCacheSpec{Disabled: disabled}, &v1alpha1.ValkeyCelerySpec{Disabled: disabled}
	cases := map[string]struct {
		spec    v1alpha1.ValkeySpec
		omitted []string
	}{
		"cache":                     {v1alpha1.ValkeySpec{Cache: cache}, []string{"CACHE_CONFIG"}},
		"data cache":                {v1alpha1.ValkeySpec{DataCache: cache}, []string{"DATA_CACHE_CONFIG"}},
		"filter state":              {v1alpha1.ValkeySpec{FilterStateCache: cache}, []string{"FILTER_STATE_CACHE_CONFIG"}},
		"explore":                   {v1alpha1.ValkeySpec{ExploreFormDataCache: cache}, []string{"EXPLORE_FORM_DATA_CACHE_CONFIG"}},
		"thumbnails":                {v1alpha1.ValkeySpec{ThumbnailCache: cache}, []string{"THUMBNAIL_CACHE_CONFIG"}},
		"coordination":              {v1alpha1.ValkeySpec{DistributedCoordination: cache}, []string{"DISTRIBUTED_COORDINATION_CONFIG"}},
		"broker and result backend": {v1alpha1.ValkeySpec{CeleryBroker: celery, CeleryResultBackend: celery}, []string{"CELERY_CONFIG"}},
		"results": {
			v1alpha1.ValkeySpec{ResultsBackend: &v1alpha1.ValkeyResultsBackendSpec{Disabled: disabled}}, []string{"RESULTS_BACKEND"},
		},
	}
	defaults := settings(t, &v1alpha1.ValkeySpec{Host: "valkey"})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.spec.Host = "valkey"
			want := map[string]any{}
			maps.Copy(want, defaults)
			for _, setting := range tc.omitted {
				delete(want, setting)
			}
			if diff := cmp.Diff(want, settings(t, &tc.spec)); diff != "" {
				t.Errorf("settings differ (-want +got):\n%s", diff)
			}
		})
	}
	got := settings(t, &v1alpha1.ValkeySpec{Host: "valkey", CeleryBroker: celery})
	want := map[string]any{
		"result_backend": "redis://valkey:6379/0", "redis_socket_connect_timeout": 5.0, "redis_socket_timeout": 30.0,
		"beat_schedule": "Superset's",
	}
	if diff := cmp.Diff(want, got["CELERY_CONFIG"]); diff != "" {
		t.Errorf("Celery without a broker differs (-want +got):\n%s", diff)
	}
}

func TestValkeyLogins(t *testing.T) {
	cases := map[string]struct {
		username, password *string
		login              string
	}{
		"nobody":                  {},
		"a password":              {password: new("p@ss/w:rd"), login: ":p%40ss%2Fw%3Ard@"},
		"a user with a password":  {username: new("us:er"), password: new("p"), login: "us%3Aer:p@"},
		"a user without password": {username: new("u"), login: "u@"},
		"an empty user":           {username: new(""), password: new("p"), login: ":p@"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := settings(t, &v1alpha1.ValkeySpec{Host: "h", Port: new(int32(1)), Username: tc.username, Password: tc.password})
			celery := got["CELERY_CONFIG"].(map[string]any)
			if want := "redis://" + tc.login + "h:1/0"; celery["broker_url"] != want {
				t.Errorf("broker %v, want %s", celery["broker_url"], want)
			}
		})
	}
}

// TestW12ValkeySSLSetsCertRequirement covers all clients: Celery's result backend does not start without the
// requirement, and flask-caching reads it only from the URL.
func TestW12ValkeySSLSetsCertRequirement(t *testing.T) {
	cases := map[string]struct {
		ssl  v1alpha1.ValkeySSLSpec
		want map[string]any
	}{
		"nothing set":        {want: map[string]any{"ssl_cert_reqs": "required", "ssl_check_hostname": true}},
		"an empty string":    {ssl: v1alpha1.ValkeySSLSpec{CertRequired: new("")}, want: map[string]any{"ssl_cert_reqs": "required", "ssl_check_hostname": true}},
		"none without files": {ssl: v1alpha1.ValkeySSLSpec{CertRequired: new("none")}, want: map[string]any{"ssl_cert_reqs": "none", "ssl_check_hostname": false}},
		"optional with files": {
			ssl: v1alpha1.ValkeySSLSpec{
				CertRequired: new("optional"), KeyFile: new("/k k"), CertFile: new("/c&c"), CACertFile: new("/a=a+%41"),
			},
			want: map[string]any{
				"ssl_cert_reqs": "optional", "ssl_keyfile": "/k k", "ssl_certfile": "/c&c", "ssl_ca_certs": "/a=a+%41",
				"ssl_check_hostname": false,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := settings(t, &v1alpha1.ValkeySpec{Host: "valkey", SSL: &tc.ssl})
			celery := got["CELERY_CONFIG"].(map[string]any)
			for _, option := range []string{"broker_use_ssl", "redis_backend_use_ssl"} {
				if diff := cmp.Diff(tc.want, celery[option]); diff != "" {
					t.Errorf("%s differs (-want +got):\n%s", option, diff)
				}
			}
			caches := 0
			for setting, value := range got {
				if !strings.Contains(setting, "CACHE_CONFIG") && !strings.Contains(setting, "COORDINATION") {
					continue
				}
				caches++
				options := value.(map[string]any)
				if diff := cmp.Diff(tc.want, options["CACHE_OPTIONS"]); diff != "" {
					t.Errorf("options of %s differ (-want +got):\n%s", setting, diff)
				}
				want := map[string]any{"socket_connect_timeout": "5", "socket_timeout": "15"}
				maps.Copy(want, tc.want)
				if diff := cmp.Diff(want, query(t, options["CACHE_REDIS_URL"].(string))); diff != "" {
					t.Errorf("URL of %s differs (-want +got):\n%s", setting, diff)
				}
			}
			if caches != 6 {
				t.Errorf("got %d caches, want 6", caches)
			}
			results, coordination := got["RESULTS_BACKEND"].(map[string]any), got["DISTRIBUTED_COORDINATION_CONFIG"].(map[string]any)
			if results["ssl"] != true || results["ssl_cert_reqs"] != tc.want["ssl_cert_reqs"] || results["ssl_ca_certs"] != tc.want["ssl_ca_certs"] {
				t.Errorf("results backend: %v", results)
			}
			if coordination["CACHE_REDIS_SSL"] != true || coordination["CACHE_REDIS_SSL_CERT_REQS"] != tc.want["ssl_cert_reqs"] {
				t.Errorf("coordination: %v", coordination)
			}
		})
	}
}

// query parses the parameters of a rediss:// URL like a client.
func query(t *testing.T, raw string) map[string]any {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "rediss" {
		t.Fatalf("%s: %v", raw, err)
	}
	out := map[string]any{}
	for name, values := range u.Query() {
		out[name] = values[0]
		if name == "ssl_check_hostname" {
			out[name] = values[0] == "True"
		}
	}
	return out
}

// TestW5KeyPrefixIsPlainText uses prefixes that an f-string or unescaped text in quotes would evaluate.
func TestW5KeyPrefixIsPlainText(t *testing.T) {
	var programs []program
	for _, prefix := range maliciousTexts {
		programs = append(programs, worker(&v1alpha1.ValkeySpec{
			Host: "valkey", Cache: &v1alpha1.ValkeyCacheSpec{KeyPrefix: &prefix},
			ResultsBackend: &v1alpha1.ValkeyResultsBackendSpec{KeyPrefix: &prefix},
			SSL:            &v1alpha1.ValkeySSLSpec{CACertFile: &prefix},
		}))
	}
	for i, got := range runAll(t, programs) {
		prefix := maliciousTexts[i]
		cache, results := got["CACHE_CONFIG"].(map[string]any), got["RESULTS_BACKEND"].(map[string]any)
		if cache["CACHE_KEY_PREFIX"] != "sales_"+prefix || results["key_prefix"] != "sales_"+prefix {
			t.Errorf("prefix %q became %q and %q", prefix, cache["CACHE_KEY_PREFIX"], results["key_prefix"])
		}
		if prefix != "" && results["ssl_ca_certs"] != prefix {
			t.Errorf("path %q became %q", prefix, results["ssl_ca_certs"])
		}
	}
}

// maliciousTexts try to escape the quotes of Python and the shell, and the expansion of Kubernetes.
var maliciousTexts = []string{
	"", "plain", "{SECRET_KEY}", "{os.environ}", "{{x}}", "%s %(x)s", "$HOME", "$(HOME)", "$$", "$$(HOME)", "`id`", "$(id)",
	`'`, `"`, `'''`, `"""`, `\`, `\\`, `\n`, `\'`, `\u0041`, `\N{DASH}`, "a\nb", "a\r\nb", "\r", "\t", "\x01", "\x7f", "ü", "\u2028", "\u2029",
	"\ufeff", "\U0001F4A5", `"); import os; os.system("true") #`, `'; touch /tmp/x; '`, "!!", "~", "*", "-n", " a  b ", "#", "&|;<>", "<script>",
}
