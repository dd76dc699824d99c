package gateway_test

import (
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/envoy"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/gateway"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// cases returns the instances of testdata, by directory.
func cases(t *testing.T) map[string]*v1alpha1.FireboltInstance {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/instance.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	out := map[string]*v1alpha1.FireboltInstance{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		i := &v1alpha1.FireboltInstance{}
		if err := yaml.UnmarshalStrict(raw, i); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out[filepath.Dir(path)] = i
	}
	return out
}

func render(t *testing.T, i *v1alpha1.FireboltInstance) gateway.Objects {
	t.Helper()
	o, err := gateway.Render(i, image, gateway.EffectiveReplicas(i), netip.IPv4Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func list(o gateway.Objects) []client.Object {
	return []client.Object{o.ServiceAccount, o.Config, o.Service, o.Deployment, o.Budget}
}

// TestGolden compares all objects of a gateway. A change of a golden file restarts every gateway.
func TestGolden(t *testing.T) {
	for dir, i := range cases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			o := render(t, i)
			for _, object := range list(o) {
				kind := object.GetObjectKind().GroupVersionKind().Kind
				if cm, isConfig := object.(*corev1.ConfigMap); isConfig {
					golden(t, filepath.Join(dir, gateway.ConfigFile), []byte(cm.Data[gateway.ConfigFile]))
					if err := envoy.Validate(t.Context(), envoy.Get(t), filepath.Join(dir, gateway.ConfigFile)); err != nil {
						t.Error(err)
					}
					cm.Data = map[string]string{gateway.ConfigFile: "see " + gateway.ConfigFile}
				}
				text, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join(dir, strings.ToLower(kind)+".yaml"), text)
			}
		})
	}
}

// TestGoldenIPv6 compares the configuration in an IPv6 cluster, where only the addresses of the listeners differ.
func TestGoldenIPv6(t *testing.T) {
	o, err := gateway.Render(cases(t)["testdata/minimal"], image, 2, netip.IPv6Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/minimal/envoy.ipv6.yaml", []byte(o.Config.Data[gateway.ConfigFile]))
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func TestRenderIsDeterministicAndKeepsInstance(t *testing.T) {
	for dir, i := range cases(t) {
		before := i.DeepCopy()
		first, second := render(t, i), render(t, i)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s: two renderings differ:\n%s", dir, diff)
		}
		// Applying an object writes the server's response into it.
		first.Deployment.Spec.Template.Spec.Containers[0].Resources.Requests["example.com/x"] = resource.MustParse("1")
		first.Deployment.Spec.Template.Labels["x"] = "y"
		if diff := cmp.Diff(before, i); diff != "" {
			t.Errorf("%s: the instance was changed:\n%s", dir, diff)
		}
	}
}

func TestDefaults(t *testing.T) {
	i := instance("main", "data")
	if got := gateway.EffectiveReplicas(i); got != 2 {
		t.Errorf("replicas = %d, want 2", got)
	}
	if got := gateway.MetricsPort(i); got != 9090 {
		t.Errorf("metrics port = %d, want 9090", got)
	}
	if got, want := gateway.Endpoint(i), "main-gateway.data.svc.cluster.local"; got != want {
		t.Errorf("endpoint = %q, want %q", got, want)
	}
	i.Spec.Gateway = v1alpha1.GatewaySpec{Replicas: new(int32(0)), MetricsPort: 1}
	if r, p := gateway.EffectiveReplicas(i), gateway.MetricsPort(i); r != 0 || p != 1 {
		t.Errorf("replicas, port = %d, %d, want those of the spec", r, p)
	}
}

func TestRenderRejectsInvalidPort(t *testing.T) {
	cases := map[int32]string{
		8080:   "spec.gateway.metricsPort: 8080 is a port that the gateway uses itself",
		9901:   "spec.gateway.metricsPort: 9901 is a port that the gateway uses itself",
		65_536: "PortValue: value must be less than or equal to 65535", // by Envoy's own rules
	}
	for port, want := range cases {
		i := instance("main", "data")
		i.Spec.Gateway.MetricsPort = port
		if _, err := gateway.Render(i, image, 2, netip.IPv4Unspecified()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("port %d: %v, want %q", port, err, want)
		}
	}
}

func TestConfigChangeRollsPods(t *testing.T) {
	hash := func(edit func(*v1alpha1.FireboltInstance)) string {
		i := instance("main", "data")
		edit(i)
		return render(t, i).Deployment.Spec.Template.Annotations["firebolt.io/config-hash"]
	}
	base := hash(func(*v1alpha1.FireboltInstance) {})
	if len(base) != 16 {
		t.Errorf("hash = %q, want 16 digits", base)
	}
	if hash(func(i *v1alpha1.FireboltInstance) { i.Spec.Gateway.Replicas = new(int32(7)) }) != base {
		t.Error("another number of replicas rolls the pods")
	}
	if hash(func(i *v1alpha1.FireboltInstance) { i.Spec.Gateway.MetricsPort = 9091 }) == base {
		t.Error("another metrics port does not roll the pods")
	}
}

func TestPullPolicyAndWorkersFollowContainer(t *testing.T) {
	cpu := func(q string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(q)}
	}
	cases := map[string]struct {
		user    corev1.Container
		policy  corev1.PullPolicy
		workers string
	}{
		"nothing given":            {corev1.Container{}, corev1.PullIfNotPresent, "2"},
		"latest":                   {corev1.Container{Image: "r:5000/envoy:latest"}, corev1.PullAlways, "2"},
		"no tag":                   {corev1.Container{Image: "r:5000/envoy"}, corev1.PullAlways, "2"},
		"a digest":                 {corev1.Container{Image: "r/envoy@sha256:abc"}, corev1.PullIfNotPresent, "2"},
		"the user's policy":        {corev1.Container{ImagePullPolicy: corev1.PullNever}, corev1.PullNever, "2"},
		"a limit, rounded up":      {corev1.Container{Resources: corev1.ResourceRequirements{Limits: cpu("2500m")}}, corev1.PullIfNotPresent, "3"},
		"a request":                {corev1.Container{Resources: corev1.ResourceRequirements{Requests: cpu("6")}}, corev1.PullIfNotPresent, "6"},
		"a limit above a request":  {corev1.Container{Resources: corev1.ResourceRequirements{Requests: cpu("1"), Limits: cpu("4")}}, corev1.PullIfNotPresent, "4"},
		"less than two processors": {corev1.Container{Resources: corev1.ResourceRequirements{Limits: cpu("50m")}}, corev1.PullIfNotPresent, "2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.user.Name = "envoy"
			i := instance("main", "data")
			i.Spec.Gateway.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{tc.user}}}
			c := render(t, i).Deployment.Spec.Template.Spec.Containers[0]
			if c.ImagePullPolicy != tc.policy || c.Args[3] != tc.workers {
				t.Errorf("policy %q, workers %q; want %q, %q", c.ImagePullPolicy, c.Args[3], tc.policy, tc.workers)
			}
		})
	}
}

// preStop returns the script with another port and another wait.
func preStop(t *testing.T, port, seconds string) *exec.Cmd {
	t.Helper()
	command := render(t, instance("main", "data")).Deployment.Spec.Template.Spec.Containers[0].Lifecycle.PreStop.Exec.Command
	text := strings.NewReplacer("/9901", "/"+port, "sleep 8", "sleep "+seconds).Replace(command[2])
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, command[0], command[1], text)
}

func TestTerminatingPodFailsHealthChecksFirst(t *testing.T) {
	requested := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requested <- r.Method + " " + r.URL.Path + " " + r.Host + " " + string(body)
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if out, err := preStop(t, port, "1").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("preStop: %v %s", err, out)
	}
	if duration := time.Since(before); duration < time.Second {
		t.Errorf("it took %v: it does not wait", duration)
	}
	select {
	case got := <-requested:
		if want := "POST /healthcheck/fail localhost "; got != want {
			t.Errorf("requested %q, want %q", got, want)
		}
	default:
		t.Error("Envoy got no request")
	}
}

func TestTerminatingPodWaitsForUnresponsiveEnvoy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // nothing to cancel
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	errWithoutDelay := preStop(t, port, "0").Run()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if errWithDelay := preStop(t, port, "1").Run(); errWithoutDelay != nil || errWithDelay != nil {
		t.Errorf("preStop fails: with a mute Envoy %v, without Envoy %v", errWithoutDelay, errWithDelay)
	}
	if duration := time.Since(before); duration < time.Second {
		t.Errorf("without Envoy it took %v: it does not wait", duration)
	}
}
