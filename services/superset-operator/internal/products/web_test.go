//go:build products

package products

import (
	"bytes"
	"errors"
	"fmt"
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

// TestWebServerEndsOnSignal: the signal reaches gunicorn, which listens where the container's port is.
func TestWebServerEndsOnSignal(t *testing.T) {
	for _, release := range []string{release60, release61} {
		t.Run(release, func(t *testing.T) {
			s := onPostgreSQL(t)
			i := installation{release: release, store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password}}
			i.task(t, "migrate").succeeds()
			port, err := freeport.One()
			if err != nil {
				t.Fatal(err)
			}
			web := i.with(func(s *v1alpha1.SupersetSpec) {
				s.WebServer.PodTemplate = &v1alpha1.PodTemplate{Container: &v1alpha1.ContainerTemplate{
					Ports: []corev1.ContainerPort{{ContainerPort: int32(port)}},
				}}
			}).component(t, "web-server")
			var out bytes.Buffer
			cmd := web.command(t.Context(), web.words...)
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			expect.Eventually(t, expect.Long, func() error {
				answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/health", port))
				if err != nil {
					return err
				}
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					return errors.New(answer.Status)
				}
				return nil
			})
			told := time.Now()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil || strings.Contains(out.String(), "SIGKILL") {
				t.Errorf("ended with %v: %s", err, tail(out.String()))
			}
			t.Logf("ended %s after it was told", time.Since(told).Round(10*time.Millisecond))
		})
	}
}
