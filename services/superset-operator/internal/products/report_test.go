//go:build products

package products

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// reportTimeout covers the start of beat and worker, the next full minute, and the alert itself.
const reportTimeout = 5 * time.Minute

// TestReportIsSent starts beat and a worker: beat schedules a due alert, the worker evaluates it, and its mail
// arrives.
func TestReportIsSent(t *testing.T) {
	port := redis(t)
	for kind, newStore := range stores() {
		t.Run(releaseOn[kind]+"/"+kind, func(t *testing.T) {
			s, mail := newStore(t), mailServer(t)
			i := installation{release: releaseOn[kind], store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password}}
			i.task(t, "migrate").succeeds()
			i = i.with(reporting(port, mail.port))
			i.component(t, "web-server").python("alert.py")
			worker := i.component(t, "celery-worker").start()
			beat := i.component(t, "celery-beat").start()
			executions := func() string {
				return s.query(t, "SELECT state, error_message FROM report_execution_log ORDER BY id")
			}
			select {
			case text := <-mail.got:
				contains(t, text, "To: ops@example.com\n", "Too many: Sales", "http://bi.example.com/")
			case <-worker.exited:
				t.Fatalf("the worker exited: %s", tail(worker.output.String()))
			case <-beat.exited:
				t.Fatalf("beat exited: %s", tail(beat.output.String()))
			case <-time.After(reportTimeout):
				t.Fatalf("no mail; executions: %s\nbeat: %s\nworker: %s", executions(), tail(beat.output.String()), tail(worker.output.String()))
			}
			expect.Eventually(t, expect.Long, func() error {
				if log := executions(); !strings.HasPrefix(log, "Success") && !strings.Contains(log, "\nSuccess") {
					return fmt.Errorf("executions: %s", log)
				}
				return nil
			})
		})
	}
}

// reporting configures a Superset whose alerts go to a mail server, without a screenshot, which needs a browser.
func reporting(valkey, mail int32) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) {
		s.Valkey = &v1alpha1.ValkeySpec{Host: "127.0.0.1", Port: &valkey}
		s.Networking = &v1alpha1.NetworkingSpec{Ingress: &v1alpha1.IngressSpec{Host: "bi.example.com"}}
		s.FeatureFlags = map[string]bool{"ALERT_REPORTS": true, "ALERTS_ATTACH_REPORTS": false}
		s.Config = new(fmt.Sprintf("SMTP_HOST, SMTP_PORT, SMTP_STARTTLS, SMTP_USER = \"127.0.0.1\", %d, False, \"\"\n", mail))
	}
}
