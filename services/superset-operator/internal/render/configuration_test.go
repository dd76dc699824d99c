package render_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// TestPoolsFitDatabase runs the rendered Python for a URI that is read at run time.
func TestPoolsFitDatabase(t *testing.T) {
	connectArgs := map[string]any{"connect_timeout": 10.0}
	sizes := map[string]any{"pool_size": 1.0, "max_overflow": -1.0, "pool_recycle": 3600.0, "pool_pre_ping": false}
	with := func(more map[string]any) map[string]any {
		out := maps.Clone(sizes)
		maps.Copy(out, more)
		return out
	}
	for uri, want := range map[string]any{
		"sqlite:////data/superset.db":        map[string]any{},
		"postgresql://u:p@h/d":               with(map[string]any{"connect_args": connectArgs}),
		"postgresql://h/d?connect_timeout=3": with(nil),
		"mysql+pymysql://h/d":                with(map[string]any{"connect_args": connectArgs, "isolation_level": "READ COMMITTED"}),
		"mysql+mysqlconnector://h/d":         with(map[string]any{"isolation_level": "READ COMMITTED"}),
	} {
		sup := &v1alpha1.Superset{Spec: v1alpha1.SupersetSpec{
			SecretKey: new("k"), Metastore: &v1alpha1.MetastoreSpec{URI: &uri}, WebServer: &v1alpha1.WebServerSpec{},
		}}
		c := resolve.For(sup, resolve.Options{}).Components[0]
		env := expand(render.Deployment(&c, "").Spec.Template.Spec.Containers[0].Env)
		if diff := cmp.Diff(want, run(t, pyconfig.Config(&c.Python), env)["SQLALCHEMY_ENGINE_OPTIONS"]); diff != "" {
			t.Errorf("%s: options differ (-want +got):\n%s", uri, diff)
		}
	}
	sup := &v1alpha1.Superset{Spec: v1alpha1.SupersetSpec{SecretKey: new("k"), WebServer: &v1alpha1.WebServerSpec{}}}
	c := resolve.For(sup, resolve.Options{}).Components[0]
	if text := pyconfig.Config(&c.Python); strings.Contains(text, "pool_size") {
		t.Errorf("a metastore that is SQLite by default gets a pool:\n%s", text)
	}
}

// TestClientAddressesBehindProxy checks that Superset trusts the client addresses of a configured proxy only, and that it has
// no limit for all requests, unless the user sets one.
func TestClientAddressesBehindProxy(t *testing.T) {
	read := func(n *v1alpha1.NetworkingSpec, config ...string) map[string]any {
		sup := &v1alpha1.Superset{Spec: v1alpha1.SupersetSpec{
			SecretKey: new("k"), WebServer: &v1alpha1.WebServerSpec{}, Networking: n, Valkey: &v1alpha1.ValkeySpec{Host: "v"},
		}}
		sup.Name = "x"
		if len(config) > 0 {
			sup.Spec.Config = &config[0]
		}
		c := resolve.For(sup, resolve.Options{}).Components[0]
		got := run(t, pyconfig.Config(&c.Python), expand(render.Deployment(&c, "").Spec.Template.Spec.Containers[0].Env))
		for _, name := range slices.Collect(maps.Keys(got)) {
			if !strings.HasPrefix(name, "RATELIMIT") && !strings.HasPrefix(name, "WEBDRIVER") && !strings.Contains(name, "PROXY") &&
				!strings.HasPrefix(name, "SESSION") {
				delete(got, name)
			}
		}
		return got
	}
	want := map[string]any{
		"WEBDRIVER_BASEURL": "http://x-web-server:8088/", "WEBDRIVER_BASEURL_USER_FRIENDLY": "http://x-web-server:8088/",
		"RATELIMIT_APPLICATION": nil,
	}
	if diff := cmp.Diff(want, read(nil)); diff != "" {
		t.Errorf("without networking (-want +got):\n%s", diff)
	}
	want = map[string]any{
		"WEBDRIVER_BASEURL": "http://x-web-server:8088/", "WEBDRIVER_BASEURL_USER_FRIENDLY": "https://bi.example.com/",
		"RATELIMIT_APPLICATION": nil,
		"ENABLE_PROXY_FIX":      true, "SESSION_COOKIE_SECURE": true,
		"PROXY_FIX_CONFIG":      map[string]any{"x_for": 1.0, "x_proto": 1.0, "x_host": 1.0, "x_port": 0.0, "x_prefix": 1.0},
		"RATELIMIT_ENABLED":     true,
		"RATELIMIT_STORAGE_URI": "redis://v:6379/1?socket_connect_timeout=2&socket_timeout=2",
		"RATELIMIT_KEY_PREFIX":  "x_ratelimit", "RATELIMIT_IN_MEMORY_FALLBACK_ENABLED": true,
	}
	tls := &v1alpha1.NetworkingSpec{Ingress: &v1alpha1.IngressSpec{Host: "bi.example.com", TLS: []networkingv1.IngressTLS{{}}}}
	if diff := cmp.Diff(want, read(tls)); diff != "" {
		t.Errorf("behind an Ingress with TLS (-want +got):\n%s", diff)
	}
	want["RATELIMIT_APPLICATION"] = "200 per second"
	if diff := cmp.Diff(want, read(tls, "RATELIMIT_APPLICATION = \"200 per second\"")); diff != "" {
		t.Errorf("with a limit of the user (-want +got):\n%s", diff)
	}
}
