package exposure_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/exposure"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden renders the exposure objects, each into a separate file. A file without an object fails the test, and so
// does an object without a file.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*/superset.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	for _, path := range cases {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			got := files(t, render(t, load(t, path)))
			if *update {
				write(t, dir, got)
			}
			want := stored(t, dir)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("objects differ (-want +got; run with -update to accept):\n%s", diff)
			}
		})
	}
}

// objects are the rendered objects of a Superset.
type objects struct {
	Ingress         *networkingv1.Ingress
	HTTPRoute       *unstructured.Unstructured
	ServiceMonitor  *unstructured.Unstructured
	NetworkPolicies []*networkingv1.NetworkPolicy
}

func render(t *testing.T, sup *v1alpha1.Superset) objects {
	t.Helper()
	want, err := desired.For(desired.Input{Superset: sup})
	if err != nil {
		t.Fatal(err)
	}
	o := objects{
		ServiceMonitor:  exposure.ServiceMonitor(sup, want.Components),
		NetworkPolicies: exposure.NetworkPolicies(sup, want.Components),
	}
	if o.Ingress, o.HTTPRoute, err = exposure.Networking(sup, want.Components); err != nil {
		t.Fatal(err)
	}
	return o
}

func files(t *testing.T, o objects) map[string]string {
	t.Helper()
	out := map[string]string{}
	if o.Ingress != nil {
		out["ingress.yaml"] = asYAML(t, o.Ingress)
	}
	if o.HTTPRoute != nil {
		out["httproute.yaml"] = asYAML(t, o.HTTPRoute)
	}
	if o.ServiceMonitor != nil {
		out["servicemonitor.yaml"] = asYAML(t, o.ServiceMonitor)
	}
	for _, p := range o.NetworkPolicies {
		out[p.Name+".yaml"] = asYAML(t, p)
	}
	return out
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name := range stored(t, dir) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func stored(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "superset.yaml" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(raw)
	}
	return out
}

func load(t *testing.T, path string) *v1alpha1.Superset {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sup := &v1alpha1.Superset{}
	if err := yaml.UnmarshalStrict(raw, sup); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return sup
}

func asYAML(t *testing.T, obj any) string {
	t.Helper()
	out, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestW13IngressWithoutHostIsNotRendered(t *testing.T) {
	for name, spec := range map[string]v1alpha1.IngressSpec{
		"nothing":       {},
		"only TLS":      {TLS: []networkingv1.IngressTLS{{SecretName: "tls"}}},
		"an empty list": {Hosts: []v1alpha1.IngressHost{}},
	} {
		t.Run(name, func(t *testing.T) {
			sup := load(t, "testdata/ingress/superset.yaml")
			sup.Spec.Networking.Ingress = &spec
			if got := render(t, sup).Ingress; got != nil {
				t.Errorf("rendered an Ingress that the API server rejects: %+v", got.Spec)
			}
		})
	}
}

func TestRoutesRequireBackend(t *testing.T) {
	for _, name := range []string{"gateway", "ingress"} {
		sup := load(t, filepath.Join("testdata", name, "superset.yaml"))
		sup.Spec.WebServer, sup.Spec.CeleryFlower = nil, nil
		sup.Spec.WebsocketServer, sup.Spec.MCPServer = nil, nil
		if got := render(t, sup); got.Ingress != nil || got.HTTPRoute != nil || got.ServiceMonitor != nil {
			t.Errorf("%s: rendered %+v", name, got)
		}
	}
}

func TestRenderKeepsSpec(t *testing.T) {
	for _, name := range []string{"gateway", "ingress"} {
		sup := load(t, filepath.Join("testdata", name, "superset.yaml"))
		before := sup.DeepCopy()
		s := render(t, sup)
		for _, p := range s.NetworkPolicies {
			p.Labels["x"], p.Spec.Ingress[0].From = "y", nil
		}
		if diff := cmp.Diff(before, sup); diff != "" {
			t.Errorf("%s: the spec changed:\n%s", name, diff)
		}
	}
}

func TestHTTPRouteIsSingle(t *testing.T) {
	s := render(t, load(t, "testdata/gateway/superset.yaml"))
	route := &gatewayv1.HTTPRoute{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(s.HTTPRoute.Object, route, true); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range route.Spec.Rules {
		got = append(got, *r.Matches[0].Path.Value+" "+string(r.BackendRefs[0].Name))
	}
	want := []string{"/events bi-websocket-server", "/mcp bi-mcp-server", "/flower bi-celery-flower", "/ bi-web-server"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules differ (-want +got):\n%s", diff)
	}
}
