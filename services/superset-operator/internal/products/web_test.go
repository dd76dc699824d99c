//go:build products

package products

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// slowConfig is the configuration of a web server with a page that takes 3 s.
const slowConfig = `
def FLASK_APP_MUTATOR(app):
    import time

    @app.route("/slow")
    def slow():
        print("slow began", flush=True)
        time.sleep(3)
        return "slow"
`

// web is a web server of the product, on a port of its own.
type web struct {
	*process
	t    *testing.T
	port int
}

func (i installation) web(t *testing.T, edit ...func(*v1alpha1.SupersetSpec)) *web {
	t.Helper()
	c, port := i.listening(t, edit...)
	return &web{process: c.start(), t: t, port: port}
}

// listening returns the container of a web server, and the port that it will listen on.
func (i installation) listening(t *testing.T, edit ...func(*v1alpha1.SupersetSpec)) (*container, int) {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	c := i.with(func(s *v1alpha1.SupersetSpec) {
		s.WebServer.PodTemplate = &v1alpha1.PodTemplate{Container: &v1alpha1.ContainerTemplate{
			Ports: []corev1.ContainerPort{{ContainerPort: int32(port)}},
		}}
	}).with(edit...).component(t, "web-server")
	return c, port
}

// get returns the status and the text of a page, and leaves the connection open.
func (w *web) get(path string) (int, string, error) {
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", w.port, path))
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// serves waits until the web server is healthy.
func (w *web) serves() *web {
	w.t.Helper()
	expect.Eventually(w.t, expect.Long, func() error {
		status, _, err := w.get("/health")
		if err == nil && status != http.StatusOK {
			err = errors.New(http.StatusText(status))
		}
		select {
		case <-w.exited:
			w.t.Fatalf("the web server exited with %v: %s", w.err, tail(w.output.String()))
		default:
		}
		return err
	})
	return w
}

// TestWebServerEndsOnSignal checks that the signal reaches gunicorn, which listens on the container's port. Gunicorn
// answers the requests in progress, does not wait for idle connections, and exits soon after the last answer.
func TestWebServerEndsOnSignal(t *testing.T) {
	const maxDelay = 2 * time.Second
	for _, release := range []string{release60, release61} {
		t.Run(release, func(t *testing.T) {
			s := onPostgreSQL(t)
			i := installation{release: release, store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password}}
			i.task(t, "migrate").succeeds()
			server := i.web(t, func(s *v1alpha1.SupersetSpec) { s.Config = new(slowConfig) }).serves()
			var respondedAt time.Time
			response := make(chan error, 1)
			go func() {
				status, text, err := server.get("/slow")
				respondedAt = time.Now()
				if err == nil && (status != http.StatusOK || text != "slow") {
					err = fmt.Errorf("%d %s", status, text)
				}
				response <- err
			}()
			expect.Eventually(t, expect.Long, server.hasPrinted("slow began"))
			// A second connection, which the client keeps open without a request.
			if _, _, err := server.get("/health"); err != nil {
				t.Fatal(err)
			}
			if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			code := server.code()
			exitedAt := time.Now()
			if err := <-response; err != nil {
				t.Errorf("a request that had begun before the signal: %v", err)
			}
			if code != 0 || strings.Contains(server.output.String(), "SIGKILL") {
				t.Errorf("ended with %d: %s", code, tail(server.output.String()))
			}
			duration := exitedAt.Sub(respondedAt).Round(10 * time.Millisecond)
			t.Logf("exited %s after the last answer", duration)
			if duration > maxDelay {
				t.Errorf("exited %s after the last answer, want at most %s: %s", duration, maxDelay, tail(server.output.String()))
			}
		})
	}
}
