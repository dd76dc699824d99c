package maintenance_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/maintenance"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

func TestNginxServesPageAndRedirects(t *testing.T) {
	page := page(t, "managed")
	s := serve(t, page)
	html := maintenance.ConfigMap(page).Data["index.html"]
	const bodySize = 2 << 20
	for _, tc := range []struct {
		method, path string
		body         int
		status       int
		location     string
		page         string
	}{
		{method: "GET", path: "/", status: 200, page: html},
		{method: "GET", path: "/?next=x", status: 200, page: html},
		{method: "HEAD", path: "/", status: 200},
		{method: "POST", path: "/", status: 200, page: html},
		{method: "POST", path: "/", body: bodySize, status: 200, page: html},
		{method: "GET", path: "/dashboard/1", status: 302, location: "/"},
		{method: "GET", path: "/index.html", status: 302, location: "/"},
		{method: "GET", path: "/health", status: 200, page: "OK\n"},
		{method: "GET", path: "/app/root/health", status: 200, page: "OK\n"},
		{method: "GET", path: "/health/more", status: 302, location: "/"},
		{method: "GET", path: "/../../etc/passwd", status: 400},
		{method: "GET", path: "/%2e%2e/etc/passwd", status: 400},
		{method: "POST", path: "/api/v1/chart/data", body: bodySize, status: 302, location: "/"},
		{method: "DELETE", path: "/api/v1/chart/1", status: 302, location: "/"},
	} {
		status, location, got := s.request(t, tc.method, tc.path, tc.body)
		if status != tc.status || location != tc.location {
			t.Errorf("%s %s: status %d, location %q", tc.method, tc.path, status, location)
		}
		if tc.status == http.StatusOK && got != tc.page {
			t.Errorf("%s %s: not the page:\n%s", tc.method, tc.path, got)
		}
	}
	if log := s.logs(t); !strings.Contains(log, `"GET /dashboard/1 HTTP/1.1" 302`) || strings.Contains(log, "[emerg]") {
		t.Errorf("the log does not contain the requests:\n%s", log)
	}
}

func TestNginxListensOnIPv6(t *testing.T) {
	page := page(t, "managed")
	page.IPv6 = true
	s := serve(t, page)
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		s.address = fmt.Sprintf("%s:%d", host, page.Port)
		if status, _, _ := s.request(t, "GET", "/", 0); status != http.StatusOK {
			t.Errorf("%s: status %d", s.address, status)
		}
	}
}

func TestUserTextReachesPageOnly(t *testing.T) {
	const body = "<h1>{{title}}</h1><script>ours()</script> $host ${uri} $(HOME) \U0001F4A5"
	malicious := page(t, "hostile")
	verbatim := page(t, "hostile", func(sup *v1alpha1.Superset) {
		text := body
		sup.Spec.Lifecycle.MaintenancePage.Body = &text
	})
	defaults := maintenance.ConfigMap(page(t, "hostile", func(sup *v1alpha1.Superset) {
		sup.Spec.Lifecycle.MaintenancePage = &v1alpha1.MaintenancePageSpec{}
	}))
	for name, data := range map[string]map[string]string{
		"title and message": maintenance.ConfigMap(malicious).Data, "body": maintenance.ConfigMap(verbatim).Data,
	} {
		for _, file := range []string{"nginx.conf", "default.conf"} {
			if diff := cmp.Diff(defaults.Data[file], data[file]); diff != "" {
				t.Errorf("%s changed %s (-plain +hostile):\n%s", name, file, diff)
			}
		}
	}
	_, _, got := serve(t, malicious).request(t, "GET", "/", 0)
	for _, forbidden := range []string{"<script", "<img", "</title><", "Scheduled Maintenance"} {
		if strings.Contains(got, forbidden) {
			t.Errorf("the page contains %q", forbidden)
		}
	}
	if want := "&lt;/title&gt;&lt;script&gt;alert(&#39;title&#39;)&lt;/script&gt;{{message}} $(HOME) $$ ${uri} `id`"; !strings.Contains(got, "<h1>"+want) {
		t.Errorf("the title is not escaped text:\n%s", got)
	}
	if _, _, got := serve(t, verbatim).request(t, "GET", "/", 0); got != body {
		t.Errorf("the body is served as %q", got)
	}
}

func TestPageIsSelfContained(t *testing.T) {
	html := maintenance.ConfigMap(page(t, "hostile", func(sup *v1alpha1.Superset) {
		sup.Spec.Lifecycle.MaintenancePage = &v1alpha1.MaintenancePageSpec{}
	})).Data["index.html"]
	for _, forbidden := range []string{"http://", "https://", "src=", "url(", "@import"} {
		if strings.Contains(html, forbidden) {
			t.Errorf("the page contains %q", forbidden)
		}
	}
	for _, required := range []string{
		`<meta http-equiv="refresh" content="30">`, `<meta name="viewport"`, "prefers-color-scheme: dark", "<h1>Scheduled Maintenance</h1>",
	} {
		if !strings.Contains(html, required) {
			t.Errorf("the page lacks %q", required)
		}
	}
}

// TestW20PageIsReadyWhenItServes checks the readiness probe: if the page were ready before it serves, the Service
// would select it too early.
func TestW20PageIsReadyWhenItServes(t *testing.T) {
	page := page(t, "managed")
	unreachable := &server{address: "127.0.0.1:1"}
	for _, p := range probes(container(page)) {
		if err := unreachable.probe(t.Context(), p); err == nil {
			t.Error("the probe succeeds although no server listens")
		}
	}
	s := serve(t, page)
	for _, p := range probes(container(page)) {
		if err := s.probe(t.Context(), p); err != nil {
			t.Error(err)
		}
		if got := p.HTTPGet.Port.IntVal; got != page.Port {
			t.Errorf("the probe requests port %d, the page listens on %d", got, page.Port)
		}
	}
}

func TestW20CustomPageIsReadyWhenItListens(t *testing.T) {
	page := page(t, "custom", func(sup *v1alpha1.Superset) {
		sup.Spec.Lifecycle.MaintenancePage.PodTemplate.Container.ReadinessProbe = nil
	})
	for _, p := range probes(container(page)) {
		if p == nil || p.TCPSocket == nil || p.TCPSocket.Port.IntVal != 8088 {
			t.Errorf("the probe does not check the port: %+v", p)
		}
	}
}

func TestW20PageRunsWithoutSupersetPermissions(t *testing.T) {
	page := page(t, "managed")
	got := maintenance.Deployment(page).Spec.Template.Spec
	inherited := page.Pod
	want := corev1.PodSpec{
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
		Tolerations:      inherited.Tolerations, NodeSelector: inherited.NodeSelector, Affinity: inherited.Affinity,
		SecurityContext: inherited.PodSecurityContext, PriorityClassName: "high", RuntimeClassName: inherited.RuntimeClassName,
		HostAliases: inherited.HostAliases, DNSPolicy: "Default", DNSConfig: inherited.DNSConfig, ServiceAccountName: "example",
	}
	automount := false
	want.AutomountServiceAccountToken = &automount
	want.Containers, want.Volumes = got.Containers, got.Volumes
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pod differs (-want +got):\n%s", diff)
	}
	if len(inherited.Tolerations) != 1 || inherited.PodSecurityContext == nil || inherited.Affinity == nil || inherited.RuntimeClassName == nil {
		t.Errorf("not inherited from the top level: %+v", inherited)
	}
	if len(got.Containers) != 1 || len(got.Volumes) != 1 {
		t.Error("the page has Superset's sidecars or volumes")
	}
}

func TestPageKeepsUserOfPod(t *testing.T) {
	for uid, want := range map[int64]bool{1000: false, 0: true} {
		page := page(t, "hostile", func(sup *v1alpha1.Superset) {
			sup.Spec.PodTemplate.PodSecurityContext.RunAsUser = &uid
		})
		got := container(page).SecurityContext
		if (got.RunAsUser != nil) != want || !*got.RunAsNonRoot {
			t.Errorf("pod of user %d: the page's container runs as %v", uid, got.RunAsUser)
		}
	}
}

func TestLargeBodyIsNotEnvironmentVariable(t *testing.T) {
	page := page(t, "managed", func(sup *v1alpha1.Superset) {
		body := strings.Repeat("x", 128<<10)
		sup.Spec.Lifecycle.MaintenancePage.Body = &body
	})
	for _, v := range container(page).Env {
		if strings.HasSuffix(v.Name, "BODY") {
			t.Error("the body is a variable of 128 KiB")
		}
	}
	if got := maintenance.ConfigMap(page).Data["index.html"]; len(got) != 128<<10 {
		t.Errorf("the page has %d bytes", len(got))
	}
}

func TestPageRequiresWebServer(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.Superset){
		"no web server": func(sup *v1alpha1.Superset) { sup.Spec.WebServer = nil },
		"no page":       func(sup *v1alpha1.Superset) { sup.Spec.Lifecycle.MaintenancePage = nil },
		"no pods":       func(sup *v1alpha1.Superset) { sup.Spec.Lifecycle.MaintenancePage.Replicas = new(int32(0)) },
		"no lifecycle":  func(sup *v1alpha1.Superset) { sup.Spec.Lifecycle = nil },
	} {
		if got := page(t, "managed", edit); got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func probes(c corev1.Container) []*corev1.Probe {
	return []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe}
}

// container returns the container that serves the page.
func container(page *resolve.Page) corev1.Container {
	return maintenance.Deployment(page).Spec.Template.Spec.Containers[0]
}

// TestTerminatingPageServesUntilPreStopEnds checks the preStop hook, since requests still arrive for some time after
// the Service selects other pods.
func TestTerminatingPageServesUntilPreStopEnds(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	custom := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}}
	for name, tc := range map[string]struct {
		grace  *int64
		custom *corev1.Lifecycle
		want   *int64
	}{
		"by default":               {nil, nil, seconds(5)},
		"a long grace period":      {seconds(60), nil, seconds(5)},
		"a short grace period":     {seconds(5), nil, nil}, // the API server rejects a sleep longer than the grace period
		"the user's own lifecycle": {nil, custom, seconds(1)},
	} {
		for _, kind := range []string{"managed", "custom"} {
			c := container(page(t, kind, func(sup *v1alpha1.Superset) {
				pods := &sup.Spec.Lifecycle.MaintenancePage.PodTemplate
				if *pods == nil {
					*pods = &v1alpha1.PodTemplate{}
				}
				if (*pods).Container == nil {
					(*pods).Container = &v1alpha1.ContainerTemplate{}
				}
				(*pods).TerminationGracePeriodSeconds, (*pods).Container.Lifecycle = tc.grace, tc.custom
			}))
			var got *int64
			if c.Lifecycle != nil {
				got = &c.Lifecycle.PreStop.Sleep.Seconds
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s, %s: -want +got\n%s", name, kind, diff)
			}
		}
	}
}
