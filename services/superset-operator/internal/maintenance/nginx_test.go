package maintenance_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/maintenance"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

const (
	nginxPackage   = "nginx-light"
	installTimeout = 10 * time.Minute
	// unprivileged is a user that owns nothing.
	unprivileged = 65534
)

// server is a real nginx with the rendered files; only the directories and the port are changed.
type server struct {
	address string
	log     string
}

// serve starts nginx as an unprivileged user and waits until the readiness probe of the page succeeds.
func serve(t *testing.T, page *resolve.Page) *server {
	t.Helper()
	root := sharedTempDir(t)
	ports, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	page.Port = int32(ports[0])
	for path, text := range mounted(t, page) {
		for _, dir := range []string{"/tmp/", "/etc/nginx/", "/usr/share/nginx/"} {
			text = strings.ReplaceAll(text, dir, root+dir)
		}
		write(t, filepath.Join(root, path), text)
	}
	s := &server{address: fmt.Sprintf("127.0.0.1:%d", page.Port), log: filepath.Join(root, "log")}
	write(t, s.log, "")
	chown(t, s.log, filepath.Join(root, "tmp"))
	s.start(t, root)
	probe := container(page).ReadinessProbe
	expect.Eventually(t, expect.Long, func() error {
		if err := s.probe(t.Context(), probe); err != nil {
			return fmt.Errorf("%w; log: %s", err, s.logs(t))
		}
		return nil
	})
	return s
}

// start runs nginx until the test ends.
func (s *server) start(t *testing.T, root string) {
	t.Helper()
	out, err := os.OpenFile(s.log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), nginx(t), "-e", "stderr", "-c", filepath.Join(root, "etc/nginx/nginx.conf"), "-g", "daemon off;")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait()
		_ = out.Close()
	})
}

func (s *server) logs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// probe runs a probe like the kubelet.
func (s *server) probe(ctx context.Context, p *corev1.Probe) error {
	if p.HTTPGet == nil {
		return errors.New("the probe does not request the page")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+p.HTTPGet.Path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode >= 400 {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

// mounted returns the files of the page as its container sees them, by path.
func mounted(t *testing.T, page *resolve.Page) map[string]string {
	t.Helper()
	data := maintenance.ConfigMap(page).Data
	out := map[string]string{}
	for _, m := range container(page).VolumeMounts {
		text, found := data[m.SubPath]
		if !found {
			t.Fatalf("no file for the mount at %s", m.MountPath)
		}
		out[m.MountPath] = text
	}
	return out
}

// sharedTempDir returns a directory that every user may enter.
func sharedTempDir(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(root), 0o755), os.Mkdir(filepath.Join(root, "tmp"), 0o755)); err != nil {
		t.Fatal(err)
	}
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func chown(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if os.Geteuid() == 0 {
			if err := os.Chown(path, unprivileged, unprivileged); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// program finds nginx, and installs it on Debian as root.
var program = sync.OnceValues(func() (string, error) {
	if path := find(); path != "" {
		return path, nil
	}
	errMissing := errors.New("nginx is missing: install the package " + nginxPackage + " (on Debian as root the test installs it)")
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", errMissing
	}
	fmt.Fprintf(os.Stderr, "no nginx found: installing the Debian package %s with apt-get\n", nginxPackage)
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	// Another test binary may be installing a package.
	install := []string{"install", "--yes", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300", nginxPackage}
	var last error
	for _, args := range [][]string{install, {"update", "-q"}, install} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			last = fmt.Errorf("apt-get %s: %w: %s", args[0], err, out)
		}
		if path := find(); path != "" {
			return path, nil
		}
	}
	return "", errors.Join(errMissing, last)
})

func find() string {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func nginx(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// request sends one request and does not follow redirects.
func (s *server) request(t *testing.T, method, path string, body int) (status int, location, page string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.address+path, strings.NewReader(strings.Repeat("x", body)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("%s %s may be cached: %q", method, path, got)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Location"), string(text)
}
