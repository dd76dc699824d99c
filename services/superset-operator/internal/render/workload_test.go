package render_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// workloads renders all components of a small Superset by name.
func workloads(edit func(*v1alpha1.SupersetSpec)) map[string]*appsv1.Deployment {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}}
	sup.Spec = v1alpha1.SupersetSpec{
		Image:     v1alpha1.ImageSpec{Repository: "r", Tag: "1"},
		WebServer: &v1alpha1.WebServerSpec{}, CeleryWorker: &v1alpha1.CeleryWorkerSpec{}, CeleryBeat: &v1alpha1.CeleryBeatSpec{},
		CeleryFlower: &v1alpha1.CeleryFlowerSpec{}, MCPServer: &v1alpha1.MCPServerSpec{}, WebsocketServer: &v1alpha1.WebsocketServerSpec{},
	}
	edit(&sup.Spec)
	out := map[string]*appsv1.Deployment{}
	plan := resolve.For(sup, resolve.Options{})
	for i := range plan.Components {
		out[plan.Components[i].Slug] = render.Deployment(&plan.Components[i], "sum")
	}
	return out
}

func main(d *appsv1.Deployment) *corev1.Container { return &d.Spec.Template.Spec.Containers[0] }

func template(c *v1alpha1.ContainerTemplate) *v1alpha1.PodTemplate {
	return &v1alpha1.PodTemplate{Container: c}
}

// TestFlowerReadsPrefixFromEnvironment runs the real command in a real shell.
func TestFlowerReadsPrefixFromEnvironment(t *testing.T) {
	for _, bootstrap := range []string{"", "NAME=\"it's sourced\""} {
		d := workloads(func(s *v1alpha1.SupersetSpec) {
			s.BootstrapScript = &bootstrap
			s.CeleryFlower.Service = &v1alpha1.ComponentServiceSpec{GatewayPath: new("/a/$(id) `id` 'b'")}
			s.CeleryFlower.PodTemplate = template(&v1alpha1.ContainerTemplate{Args: []string{"it's", "$HOME"}})
		})["celery-flower"]
		dir := t.TempDir()
		write(t, dir, "celery", "#!/bin/sh\necho \"$NAME\"\nfor a in \"$@\"; do echo \"[$a]\"; done\n")
		write(t, dir, "superset_bootstrap.sh", bootstrap+"\nexport NAME\n")
		command := slices.Concat(main(d).Command, main(d).Args)
		command[2] = strings.ReplaceAll(command[2], "/app/pythonpath", dir)
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
		for name, value := range expand(main(d).Env) {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		sourced := ""
		if bootstrap != "" {
			sourced = "it's sourced"
		}
		want := sourced + "\n[--app=superset.tasks.celery_app:app]\n[flower]\n[--port=5555]\n[--url_prefix=/a/$(id) `id` 'b']\n[it's]\n[$HOME]\n"
		if diff := cmp.Diff(want, string(out)); diff != "" {
			t.Errorf("output differs (-want +got):\n%s", diff)
		}
	}
}

// TestW8BeatNeverRunsTwice checks that the strategy never runs two schedulers, which would send every report twice.
func TestW8BeatNeverRunsTwice(t *testing.T) {
	rolling := &appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{}}
	all := workloads(func(s *v1alpha1.SupersetSpec) {
		s.Replicas, s.Autoscaling = new(int32(5)), &v1alpha1.AutoscalingSpec{MinReplicas: new(int32(3)), MaxReplicas: 9}
		s.DeploymentTemplate = &v1alpha1.DeploymentTemplate{Strategy: rolling}
		s.CeleryBeat.DeploymentTemplate = &v1alpha1.DeploymentTemplate{Strategy: rolling}
	})
	beat := all[component.CeleryBeatName].Spec
	if beat.Strategy.Type != appsv1.RecreateDeploymentStrategyType || beat.Strategy.RollingUpdate != nil || *beat.Replicas != 1 {
		t.Errorf("strategy %+v with %d replicas", beat.Strategy, *beat.Replicas)
	}
	if got := all[component.WebServerName].Spec.Strategy.Type; got != appsv1.RollingUpdateDeploymentStrategyType {
		t.Errorf("the web server's strategy is %q", got)
	}
}

// TestW13ReservedKeysBelongToOperator checks that labels and annotations of users do not replace those by which the
// operator selects and rolls pods.
func TestW13ReservedKeysBelongToOperator(t *testing.T) {
	userLabels := map[string]string{
		"app.kubernetes.io/name": "mine", "app.kubernetes.io/component": "mine", "app.kubernetes.io/instance": "mine",
		"superset.apache.org/parent": "mine", "superset.apache.org/instance": "x-migrate", "superset.apache.org/init-task": "migrate", "mine": "yes",
	}
	userAnnotations := map[string]string{
		"superset.apache.org/config-checksum": "mine", "superset.apache.org/task-pod-spec-hash": "mine",
		"superset.apache.org/task-attempt": "9", "mine": "yes",
	}
	for slug, d := range workloads(func(s *v1alpha1.SupersetSpec) {
		s.PodTemplate = &v1alpha1.PodTemplate{Labels: userLabels, Annotations: userAnnotations}
		s.DeploymentTemplate = &v1alpha1.DeploymentTemplate{Labels: userLabels, Annotations: userAnnotations}
	}) {
		want := map[string]string{
			"app.kubernetes.io/name": "superset", "app.kubernetes.io/component": slug, "app.kubernetes.io/instance": "x",
			"superset.apache.org/parent": "x", "mine": "yes",
		}
		pod := d.Spec.Template.ObjectMeta
		for _, got := range []map[string]string{pod.Labels, d.Labels} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("labels of %s differ (-want +got):\n%s", slug, diff)
			}
		}
		if diff := cmp.Diff(map[string]string{"superset.apache.org/config-checksum": "sum", "mine": "yes"}, pod.Annotations); diff != "" {
			t.Errorf("annotations of %s differ (-want +got):\n%s", slug, diff)
		}
		for name, value := range d.Spec.Selector.MatchLabels {
			if pod.Labels[name] != value {
				t.Errorf("%s selects %s=%s, which its pods lack", slug, name, value)
			}
		}
	}
}

func TestComponentWithoutConfigurationHasNoChecksum(t *testing.T) {
	sup := &v1alpha1.Superset{}
	sup.Spec.WebsocketServer = &v1alpha1.WebsocketServerSpec{}
	sup.Spec.PodTemplate = &v1alpha1.PodTemplate{Annotations: map[string]string{v1alpha1.AnnotationConfigChecksum: "mine"}}
	c := resolve.For(sup, resolve.Options{}).Components[0]
	if got := render.Deployment(&c, "").Spec.Template.Annotations; len(got) != 0 {
		t.Errorf("annotations %v", got)
	}
	if cm := render.ComponentConfigMap(&c); cm != nil {
		t.Errorf("unexpected ConfigMap: %v", cm.Data)
	}
}

func TestEnvironmentIsOrdered(t *testing.T) {
	d := workloads(func(s *v1alpha1.SupersetSpec) {
		ref := &corev1.SecretKeySelector{Key: "k"}
		s.SecretKeyFrom, s.PreviousSecretKeyFrom, s.ForceReload = ref, ref, "now"
		s.Metastore = &v1alpha1.MetastoreSpec{Host: new("h"), Database: new("d"), Username: new("u"), PasswordFrom: ref}
		s.Valkey = &v1alpha1.ValkeySpec{Host: "h", Username: new("u"), PasswordFrom: ref}
	})
	names := func(slug string) (out []string) {
		for _, e := range main(d[slug]).Env {
			out = append(out, strings.TrimPrefix(e.Name, "SUPERSET_OPERATOR__"))
		}
		return out
	}
	shared := []string{
		"INSTANCE_NAME", "SUPERSET_CONFIG_PATH", "SUPERSET_CONFIG", "SECRET_KEY", "PREVIOUS_SECRET_KEY", "DB_HOST", "DB_PORT", "DB_NAME", "DB_USER", "DB_PASS",
		"VALKEY_HOST", "VALKEY_PORT", "VALKEY_USER", "VALKEY_PASS",
	}
	gunicorn := []string{
		"SERVER_WORKER_AMOUNT", "SERVER_THREADS_AMOUNT", "SERVER_WORKER_CLASS", "GUNICORN_TIMEOUT", "GUNICORN_KEEPALIVE",
		"WORKER_MAX_REQUESTS", "WORKER_MAX_REQUESTS_JITTER", "SERVER_LIMIT_REQUEST_LINE", "SERVER_LIMIT_REQUEST_FIELD_SIZE", "GUNICORN_LOGLEVEL",
	}
	always := []string{"FORCE_RELOAD"}
	want := map[string][]string{
		"web-server": slices.Concat(shared, gunicorn, []string{"SUPERSET_PORT"}, always), "celery-worker": slices.Concat(shared, always),
		"celery-beat": slices.Concat(shared, always), "celery-flower": slices.Concat(shared, []string{"FLOWER_URL_PREFIX"}, always),
		"mcp-server": slices.Concat(shared, always), "websocket-server": {"INSTANCE_NAME", "FORCE_RELOAD"},
	}
	for _, slug := range slices.Sorted(maps.Keys(d)) {
		if diff := cmp.Diff(want[slug], names(slug)); diff != "" {
			t.Errorf("variables of %s differ (-want +got):\n%s", slug, diff)
		}
	}
}

// TestComponentTermination checks that a web server pauses before SIGTERM while endpoints are updated, and that each
// component has the grace period for its work.
func TestComponentTermination(t *testing.T) {
	end := func(edit func(*v1alpha1.SupersetSpec), slug string) (pause, grace int64) {
		d := workloads(edit)[slug]
		if l := main(d).Lifecycle; l != nil {
			pause = l.PreStop.Sleep.Seconds
		}
		if g := d.Spec.Template.Spec.TerminationGracePeriodSeconds; g != nil {
			grace = *g
		}
		return pause, grace
	}
	cases := []struct {
		slug         string
		edit         func(*v1alpha1.SupersetSpec)
		pause, grace int64
	}{
		{"web-server", func(*v1alpha1.SupersetSpec) {}, 2, 70},
		{"web-server", func(s *v1alpha1.SupersetSpec) {
			s.WebServer.Gunicorn = &v1alpha1.GunicornSpec{Timeout: new(int32(300))}
		}, 2, 310},
		{"web-server", func(s *v1alpha1.SupersetSpec) {
			s.PodTemplate = &v1alpha1.PodTemplate{TerminationGracePeriodSeconds: new(int64(1))}
		}, 0, 1},
		{"celery-worker", func(*v1alpha1.SupersetSpec) {}, 0, 300},
		{"celery-beat", func(*v1alpha1.SupersetSpec) {}, 0, 0},
	}
	for _, tc := range cases {
		if pause, grace := end(tc.edit, tc.slug); pause != tc.pause || grace != tc.grace {
			t.Errorf("%s: pause %d and grace %d, want %d and %d", tc.slug, pause, grace, tc.pause, tc.grace)
		}
	}
}
