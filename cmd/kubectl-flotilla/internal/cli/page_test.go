package cli

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statustest"
)

func TestPageAddsCallerCredentials(t *testing.T) {
	s, _ := asReader(t)
	admin := newShell(t, s.namespace)
	for name, tc := range map[string]struct {
		shell *shell
		args  []string
	}{
		"a token":                               {s, nil},
		"a certificate, through ServiceAccount": {admin, []string{"--service-account=reader"}},
	} {
		t.Run(name, func(t *testing.T) {
			opened, cleaned := make(chan string, 1), false
			tc.shell.app = func(a *App) {
				realClock(a)
				a.Browse = func(_ context.Context, address string) (func(), error) {
					opened <- address
					return func() { cleaned = true }, nil
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			done := tc.shell.background(ctx, append([]string{"page"}, tc.args...)...)
			address := <-opened
			if body := read(t, address); body != statustest.Page {
				t.Errorf("the page is %q", body)
			}
			if body := read(t, address+"api/v1/resources?kind=superset"); !strings.Contains(body, `"name":"main"`) {
				t.Errorf("the resources are %q", body)
			}
			if !strings.Contains(tc.shell.out.String(), "Status page: "+address) {
				t.Errorf("printed is %q", tc.shell.out)
			}
			stop()
			if err := <-done; err != nil || !cleaned {
				t.Errorf("the command ended with %v; cleaned up: %v", err, cleaned)
			}
		})
	}
}

func TestPageReportsErrors(t *testing.T) {
	s, api := asReader(t)
	admin := newShell(t, s.namespace)
	admin.fail("a client certificate or a password ends at the API server. Name a ServiceAccount", "page")
	admin.fail(`serviceaccounts "missing" not found`, "page", "--service-account=missing")
	s.fail("--as ends at the API server", "page", "--as=jane")
	s.fail("would send your credentials unencrypted", "page", "--status-url=http://status.example.org")
	s.fail("connect to the status API", "page", "--status-url=http://127.0.0.1:1")
	api.ValidToken = func(string) bool { return false }
	s.fail("the API server does not accept your token", "page")
	t.Setenv(envStatusURL, "")
	admin.fail(`no Service status-aggregator in namespace "elsewhere"`, "page", "--flotilla-namespace=elsewhere")
}

func read(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
