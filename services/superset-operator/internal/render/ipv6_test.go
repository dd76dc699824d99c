package render_test

import (
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// TestHostsInURLs checks that each URL has the host of the spec, and that programs which expect an address get no brackets.
func TestHostsInURLs(t *testing.T) {
	for host, address := range map[string]string{
		"fd00::1": "fd00::1", "[fd00::1]": "fd00::1",
		"::ffff:10.0.0.1": "::ffff:10.0.0.1", "10.0.0.1": "10.0.0.1", "db.example.org": "db.example.org",
	} {
		sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "sales", Namespace: "bi"}, Spec: v1alpha1.SupersetSpec{
			SecretKey: new("key"), CeleryWorker: &v1alpha1.CeleryWorkerSpec{}, WebServer: &v1alpha1.WebServerSpec{},
			Valkey:     &v1alpha1.ValkeySpec{Host: host},
			Metastore:  &v1alpha1.MetastoreSpec{Host: &host, Database: new("superset"), Username: new("superset")},
			Networking: &v1alpha1.NetworkingSpec{Ingress: &v1alpha1.IngressSpec{Host: "bi.example.org"}},
			Lifecycle:  &v1alpha1.LifecycleSpec{Clone: &v1alpha1.CloneTaskSpec{Source: v1alpha1.CloneSourceSpec{Host: host}}},
		}}
		plan := resolve.For(sup, resolve.Options{})
		c := plan.Components[0]
		env := expand(render.Deployment(&c, "sum").Spec.Template.Spec.Containers[0].Env)
		got := runAll(t, []program{{pyconfig.Config(&c.Python), env}})[0]
		for name, text := range urls(got, "") {
			if u, err := url.Parse(text); err != nil || u.Host != net.JoinHostPort(address, u.Port()) {
				t.Errorf("host %q: %s is %q (%v)", host, name, text, err)
			}
		}
		results, _ := got["RESULTS_BACKEND"].(map[string]any)
		hosts := []any{env["SUPERSET_OPERATOR__DB_HOST"], env["SUPERSET_OPERATOR__VALKEY_HOST"], results["host"], cloneSource(plan)}
		for _, value := range hosts {
			if value != address {
				t.Errorf("host %q: a program gets %v, want %s", host, value, address)
			}
		}
	}
}

// TestCommandsListenOnIPv6 runs the web server's command in a shell, with a stub of gunicorn.
func TestCommandsListenOnIPv6(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "gunicorn", "#!/bin/sh\necho \"$2\"\n")
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "sales", Namespace: "bi"}, Spec: v1alpha1.SupersetSpec{
		SecretKey: new("key"), WebServer: &v1alpha1.WebServerSpec{}, MCPServer: &v1alpha1.MCPServerSpec{},
	}}
	for ipv6, want := range map[bool]string{false: "0.0.0.0", true: "[::]"} {
		for _, c := range resolve.For(sup, resolve.Options{IPv6: ipv6}).Components {
			command := render.Deployment(&c, "sum").Spec.Template.Spec.Containers[0].Command
			if c.Descriptor.Name != component.WebServerName {
				if got := command[4]; got != strings.Trim(want, "[]") {
					t.Errorf("%s listens on %s", c.Slug, got)
				}
				continue
			}
			shell := exec.CommandContext(t.Context(), command[0], command[1:]...)
			shell.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
			if out, err := shell.CombinedOutput(); err != nil || string(out) != want+":8088\n" {
				t.Errorf("%s listens on %s (%v)", c.Slug, out, err)
			}
		}
	}
}

func cloneSource(plan resolve.Plan) string {
	for i := range plan.Tasks {
		if clone := plan.Tasks[i].Clone; clone != nil {
			return clone.Host
		}
	}
	return ""
}

var urlSettings = map[string]bool{
	"SQLALCHEMY_DATABASE_URI": true, "RATELIMIT_STORAGE_URI": true, "CACHE_REDIS_URL": true,
	"broker_url": true, "result_backend": true,
}

// urls returns the URLs of servers in settings, by their path.
func urls(settings map[string]any, path string) map[string]string {
	out := map[string]string{}
	for name, value := range settings {
		switch value := value.(type) {
		case map[string]any:
			maps.Copy(out, urls(value, path+name+"."))
		case string:
			if urlSettings[name] {
				out[path+name] = value
			}
		}
	}
	return out
}
