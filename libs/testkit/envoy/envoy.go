package envoy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

const (
	startTimeout    = time.Minute
	validateTimeout = time.Minute
)

// Get returns the path of the binary. It fails the test and prints the remedy if the download fails.
func Get(t testing.TB) string {
	t.Helper()
	program, err := Install(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Validate returns an error if Envoy rejects a configuration or warns about it. Envoy only warns about an unknown retry
// token, for example, and ignores it.
func Validate(ctx context.Context, program, config string) error {
	ctx, cancel := context.WithTimeout(ctx, validateTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--mode", "validate", "--log-level", "warning", "--config-path", config).CombinedOutput()
	if err != nil {
		return fmt.Errorf("envoy --mode validate: %w: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "][warning]") || strings.Contains(line, "][error]") || strings.Contains(line, "][critical]") {
			return fmt.Errorf("envoy --mode validate warns: %s", strings.TrimSpace(line))
		}
	}
	return nil
}

// Start runs Envoy until the test ends and returns when it is live. The admin interface of the configuration must listen
// on the given address.
func Start(t testing.TB, config, admin string, args ...string) *proc.Child {
	t.Helper()
	program, dir := Get(t), t.TempDir()
	path := filepath.Join(dir, "envoy.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"--config-path", path, "--disable-hot-restart", "--concurrency", "2", "--log-level", "warning"}, args...)
	child, err := proc.Start(exec.CommandContext(context.WithoutCancel(t.Context()), program, args...), filepath.Join(dir, "envoy.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		child.Kill()
		if t.Failed() {
			t.Logf("log of Envoy:\n%s", proc.Tail(child.Log, 30))
		}
	})
	err = await.Nil(t.Context(), startTimeout, 20*time.Millisecond, func(ctx context.Context) error {
		body, err := get(ctx, "http://"+admin+"/ready")
		switch ended := child.Running(); {
		case ended != nil:
			return await.Stop(ended)
		case err == nil && !strings.HasPrefix(body, "LIVE"):
			err = fmt.Errorf("it is %s", strings.TrimSpace(body))
		}
		return err
	})
	if err != nil {
		t.Fatalf("Envoy is not live: %v\n%s", err, proc.Tail(child.Log, 30))
	}
	return child
}

func get(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}
