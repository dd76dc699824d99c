//go:build products

package products

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// blackholePort returns a local port that neither accepts nor refuses connections: the kernel drops packets to it,
// since the accept queue is full.
func blackholePort(t *testing.T) int32 {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		t.Fatalf("the address is %v", name)
	}
	for range 10 {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", address.Port), 200*time.Millisecond)
		if err != nil {
			return int32(address.Port)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Fatal("the accept queue is not full")
	return 0
}

// TestMetastoreSwallowsPackets checks that a task without a preflight fails within the timeout, and that its last
// line names the cause and the host.
func TestMetastoreSwallowsPackets(t *testing.T) {
	const imports, connect = 60 * time.Second, 10 * time.Second
	// 110 is ETIMEDOUT; this library does not print the port.
	causes := map[string]string{"PostgreSQL": "port %d failed: timeout expired", "MySQL": "Can't connect to server on '127.0.0.1' (110)"}
	for kind, newStore := range stores() {
		t.Run(releaseOn[kind]+"/"+kind, func(t *testing.T) {
			s := newStore(t)
			s.port = blackholePort(t)
			i := installation{release: releaseOn[kind], store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password}}
			start := time.Now()
			output := i.task(t, "init").fails()
			duration := time.Since(start).Round(100 * time.Millisecond)
			t.Logf("failed after %s: %s", duration, output)
			if duration > imports+connect {
				t.Errorf("failed after %s, want at most %s", duration, imports+connect)
			}
			contains(t, output, strings.ReplaceAll(causes[kind], "%d", fmt.Sprint(s.port)))
		})
	}
}

// valkey is a server that can be stopped and started.
type valkey struct {
	t    *testing.T
	port int32
	cmd  *exec.Cmd
}

func newValkey(t *testing.T) *valkey {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	v := &valkey{t: t, port: int32(port)}
	v.start()
	t.Cleanup(v.stop)
	return v
}

func (v *valkey) start() {
	v.t.Helper()
	v.cmd = exec.CommandContext(v.t.Context(), "redis-server", "--port", fmt.Sprint(v.port), "--save", "", "--dir", v.t.TempDir(), "--bind", "127.0.0.1")
	if err := v.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	expect.Eventually(v.t, expect.Long, func() error {
		_, err := v.query("PING")
		return err
	})
}

func (v *valkey) stop() { _ = v.cmd.Process.Kill(); _ = v.cmd.Wait() }

func (v *valkey) query(args ...string) (string, error) {
	out, err := exec.CommandContext(v.t.Context(), "redis-cli", append([]string{"-p", fmt.Sprint(v.port)}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

// limits returns an error unless the product counts requests in Valkey.
func (v *valkey) limits() error {
	keys, err := v.query("-n", "1", "--scan", "--pattern", "*example_ratelimit*")
	if err == nil && keys == "" {
		err = errors.New("no limit in Valkey")
	}
	return err
}

// proxied is a Superset behind a gateway, with a Valkey and a limit for all requests.
func proxied(port int32) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) {
		s.Valkey = &v1alpha1.ValkeySpec{Host: "127.0.0.1", Port: &port}
		s.Config = new("RATELIMIT_APPLICATION = \"50 per second\"\n")
		s.Networking = &v1alpha1.NetworkingSpec{Ingress: &v1alpha1.IngressSpec{Host: "bi.example.com"}}
	}
}

// checkResponseTime checks that a page is answered in time.
func (w *web) checkResponseTime(path string, limit time.Duration) {
	w.t.Helper()
	start := time.Now()
	status, text, err := w.get(path)
	duration := time.Since(start).Round(10 * time.Millisecond)
	w.t.Logf("%s: %d after %s", path, status, duration)
	if err != nil || status != http.StatusOK {
		w.t.Errorf("%s: %d %v: %s", path, status, err, tail(text))
	}
	if duration > limit {
		w.t.Errorf("%s: answered after %s, want at most %s", path, duration, limit)
	}
}

// TestValkeyDown checks that limits are counted in Valkey, that requests are answered while it is down, and that
// limits are counted in it again afterwards.
func TestValkeyDown(t *testing.T) {
	for kind, newStore := range stores() {
		t.Run(releaseOn[kind]+"/"+kind, func(t *testing.T) {
			s, server := newStore(t), newValkey(t)
			i := installation{release: releaseOn[kind], store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password}}
			i.task(t, "migrate").succeeds()
			web := i.web(t, proxied(server.port)).serves()
			if err := server.limits(); err != nil {
				t.Error(err)
			}
			server.stop()
			for range 10 {
				web.checkResponseTime("/health", 5*time.Second)
			}
			web.checkResponseTime("/login/", 10*time.Second)
			server.start()
			expect.Eventually(t, expect.Long, func() error {
				if _, _, err := web.get("/health"); err != nil {
					return err
				}
				return server.limits()
			})
		})
	}
}

// TestValkeyDoesNotAnswer checks that pages are delayed by seconds only, and that probes are answered before their
// timeout.
func TestValkeyDoesNotAnswer(t *testing.T) {
	const probe, page = 5 * time.Second, time.Minute
	for kind, newStore := range stores() {
		t.Run(releaseOn[kind]+"/"+kind, func(t *testing.T) {
			s := newStore(t)
			i := installation{release: releaseOn[kind], store: s, secrets: map[string]string{"old/key": oldKey, "db/key": s.password}}
			i.task(t, "migrate").succeeds()
			for name, port := range map[string]int32{"drops packets": blackholePort(t), "accepts connections": unresponsive(t)} {
				t.Run(name, func(t *testing.T) {
					web := i.web(t, proxied(port)).serves()
					for range 5 {
						web.checkResponseTime("/health", probe)
					}
					web.checkResponseTime("/login/", page)
				})
			}
		})
	}
}

// unresponsive returns a port that accepts connections and never answers.
func unresponsive(t *testing.T) int32 {
	t.Helper()
	return listen(t, func(conn net.Conn) { t.Cleanup(func() { _ = conn.Close() }) })
}

// listen calls serve for each connection to a port, sequentially until the test ends, and returns the port.
func listen(t *testing.T, serve func(net.Conn)) int32 {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("listens on %s", listener.Addr())
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn)
		}
	}()
	return int32(address.Port)
}

// TestSessionWhileRotating checks that a session that the previous key signed stays valid from 6.1 on.
func TestSessionWhileRotating(t *testing.T) {
	for release, rotatingUser := range map[string]string{release60: "nobody", release61: "ada"} {
		t.Run(release, func(t *testing.T) {
			s := onPostgreSQL(t)
			i := installation{release: release, store: s, secrets: map[string]string{"old/key": oldKey, "new/key": newKey, "db/key": s.password}}
			i.task(t, "migrate").succeeds()
			session := i.component(t, "web-server").python("session.py", "login")
			for name, want := range map[string]struct {
				installation
				user string
			}{
				"before":          {i, "ada"},
				"rotating":        {i.with(rotating("new", "old")), rotatingUser},
				"another new key": {i.with(keyed("new")), "nobody"},
			} {
				if got := want.component(t, "web-server").python("session.py", "read", session); got != want.user {
					t.Errorf("%s: got %s, want %s", name, got, want.user)
				}
			}
		})
	}
}
