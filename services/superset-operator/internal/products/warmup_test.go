//go:build products

package products

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// warmUpTimeout covers the start of the three components, the next full minute, and the two tasks.
const warmUpTimeout = 5 * time.Minute

// warmUpConfig returns the configuration in the guide, each minute instead of each hour.
func warmUpConfig(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	_, task, _ := strings.Cut(string(page), "### Warm up the cache\n")
	_, block, _ := strings.Cut(task, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var example v1alpha1.Superset
	if err := yaml.UnmarshalStrict([]byte(block), &example); err != nil || example.Spec.Config == nil {
		t.Fatalf("the guide has no configuration: %v", err)
	}
	return strings.Replace(*example.Spec.Config, `crontab(minute="0")`, "crontab()", 1)
}

// TestCacheIsWarmedUp starts the web server, beat and a worker. Beat schedules the product's own task, the worker
// requests a chart from the web server, and the first user gets that chart from the cache.
func TestCacheIsWarmedUp(t *testing.T) {
	for kind, newStore := range stores() {
		t.Run(releaseOn[kind]+"/"+kind, func(t *testing.T) {
			s, cache := newStore(t), newValkey(t)
			i := installation{release: releaseOn[kind], store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password}}
			i.task(t, "migrate").succeeds()
			i.task(t, "init").succeeds()
			i, port := i.warmingUp(t, cache.port)
			c := i.component(t, "web-server")
			chart := c.python("chart.py")
			server := (&web{process: c.start(), t: t, port: port}).serves()
			worker, beat := i.component(t, "celery-worker").start(), i.component(t, "celery-beat").start()
			expect.Eventually(t, warmUpTimeout, func() error {
				results, err := cache.taskResults()
				if err == nil && !strings.Contains(results, `\"viz_status\":\"success\"`) {
					err = fmt.Errorf("results of tasks: %s\nbeat: %s\nworker: %s", results, tail(beat.output.String()), tail(worker.output.String()))
				}
				return err
			})
			if data := server.chartData(chart); !strings.Contains(data, `"is_cached": true`) || !strings.Contains(data, `"amount": 42`) {
				t.Errorf("got %s, want the data of the chart, from the cache", data)
			}
		})
	}
}

// warmingUp returns the installation with a schedule that warms up its cache, and the port of its web server.
func (i installation) warmingUp(t *testing.T, valkey int32) (installation, int) {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	config := warmUpConfig(t)
	return i.with(func(s *v1alpha1.SupersetSpec) {
		s.Valkey = &v1alpha1.ValkeySpec{Host: "127.0.0.1", Port: &valkey}
		s.Config = new(config)
		// Cookies of a proxied server are for TLS only, which the worker does not use.
		s.Networking = &v1alpha1.NetworkingSpec{Ingress: &v1alpha1.IngressSpec{
			Host: "bi.example.com", TLS: []networkingv1.IngressTLS{{Hosts: []string{"bi.example.com"}}},
		}}
		s.WebServer.Service = &v1alpha1.ComponentServiceSpec{Port: new(int32(port))}
		s.WebServer.PodTemplate = &v1alpha1.PodTemplate{Container: &v1alpha1.ContainerTemplate{
			Ports: []corev1.ContainerPort{{ContainerPort: int32(port)}},
		}}
	}), port
}

// taskResults returns the results of all tasks that workers completed.
func (v *valkey) taskResults() (string, error) {
	keys, err := v.query("--scan", "--pattern", "celery-task-meta-*")
	if err != nil || keys == "" {
		return "", err
	}
	return v.query(append([]string{"MGET"}, strings.Fields(keys)...)...)
}

// chartData logs in as the owner of the chart and returns its data.
func (w *web) chartData(chart string) string {
	w.t.Helper()
	var login struct {
		Token string `json:"access_token"`
	}
	account := strings.NewReader(`{"username": "ada", "password": "a password", "provider": "db"}`)
	if err := json.Unmarshal(w.api(http.MethodPost, "/security/login", http.Header{"Content-Type": {"application/json"}}, account), &login); err != nil {
		w.t.Fatal(err)
	}
	return string(w.api(http.MethodGet, "/chart/"+chart+"/data/", http.Header{"Authorization": {"Bearer " + login.Token}}, nil))
}

// api returns the answer to a request to the API.
func (w *web) api(method, path string, header http.Header, body io.Reader) []byte {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, fmt.Sprintf("http://127.0.0.1:%d/api/v1%s", w.port, path), body)
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %d %s, %v", path, response.StatusCode, text, err)
	}
	return text
}
