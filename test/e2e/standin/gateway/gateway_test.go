package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
)

const golden = "../../../../services/engine-operator/internal/gateway/testdata/minimal/envoy.yaml"

const program = "github.com/flotilla-dev/flotilla/test/e2e/standin/cmd/gateway"

// rig is a gateway with the operator's configuration, other ports, and a name server of the test's own.
type rig struct {
	config Config
	port   int // of engines

	mu    sync.Mutex
	names map[string][]netip.Addr
}

func configuration(t *testing.T, ports []int) string {
	t.Helper()
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("port_value: 8080", fmt.Sprint("port_value: ", ports[0]), "port_value: 9090", fmt.Sprint("port_value: ", ports[1]),
		"port_value: 9901", fmt.Sprint("port_value: ", ports[2]), ":3473", fmt.Sprint(":", ports[3]), "0.0.0.0", "127.0.0.1").Replace(string(text))
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ports, err := freeport.Pick(4)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parse([]byte(configuration(t, ports)))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{config: c, port: ports[3], names: map[string][]netip.Addr{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c, r.lookup, t.Logf) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("gateway: %v", err)
		}
	})
	expect.Eventually(t, expect.Long, func() error { return r.is(t, "http://"+c.Stats+"/healthz", http.StatusOK) })
	return r
}

func (r *rig) lookup(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok := r.names[host]; ok {
		return found, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// point gives the Service of an engine its pods.
func (r *rig) point(engine string, pods ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var to []netip.Addr
	for _, p := range pods {
		to = append(to, netip.MustParseAddr(p))
	}
	r.names[engine+"-service.data.svc.cluster.local"] = to
}

// pod serves queries at a loopback address of its own.
func (r *rig) pod(t *testing.T, address string, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(address, fmt.Sprint(r.port)))
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: listener, Config: &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/health/ready" {
			handler(w, q)
		}
	})}}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func named(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %s %v", text, r.Host, r.RequestURI, body, err)
	}
}

func (r *rig) ask(t *testing.T, path, engine, body string) (int, string, error) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.config.Query+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if engine != "" {
		q.Header.Set("X-Firebolt-Engine", engine)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

func (r *rig) is(t *testing.T, url string, want int) error {
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != want {
		return fmt.Errorf("%s: %s, want %d", url, answer.Status, want)
	}
	return nil
}

func TestAQueryFindsItsEngine(t *testing.T) {
	r := newRig(t)
	r.point("etl", "127.0.0.2")
	r.pod(t, "127.0.0.2", named("etl"))
	host := fmt.Sprintf("etl-service.data.svc.cluster.local:%d", r.port)
	for name, tc := range map[string]struct {
		path, engine string
		status       int
		want         string
	}{
		"by header":       {"/a?b=c", "etl", 200, "etl " + host + " /a?b=c SELECT 1 <nil>"},
		"by parameter":    {"/?b=c&engine=etl&d", "", 200, "etl " + host + " /?b=c&d SELECT 1 <nil>"},
		"by both":         {"/?engine=etl", "etl", 200, "etl " + host + " / SELECT 1 <nil>"},
		"they differ":     {"/?engine=etl", "other", 400, "different engines"},
		"no engine":       {"/", "", 400, "no engine is named"},
		"another host":    {"/", "evil.example.com", 400, "no engine's name"},
		"no such engine":  {"/", "nobody", 503, "no healthy upstream"},
		"health of Envoy": {"/healthz", "", 200, "OK"},
	} {
		t.Run(name, func(t *testing.T) {
			status, text, err := r.ask(t, tc.path, tc.engine, "SELECT 1")
			if err != nil || status != tc.status || !strings.Contains(text, tc.want) {
				t.Errorf("%d %q %v, want %d %q", status, text, err, tc.status, tc.want)
			}
		})
	}
}

// TestNoQueryFailsWhileAGenerationIsReplaced is what the gateway is for: the old pods refuse and go, with and without an
// answer, and the name leads to the new ones a moment later.
func TestNoQueryFailsWhileAGenerationIsReplaced(t *testing.T) {
	r := newRig(t)
	r.point("etl", "127.0.0.2", "127.0.0.3")
	old := []*httptest.Server{r.pod(t, "127.0.0.2", named("old")), r.pod(t, "127.0.0.3", named("old"))}
	ask := func() string {
		status, text, err := r.ask(t, "/", "etl", "SELECT 1")
		if err != nil || status != http.StatusOK {
			t.Fatalf("%d %q %v", status, text, err)
		}
		word, _, _ := strings.Cut(text, " ")
		return word
	}
	if got := ask(); got != "old" {
		t.Fatalf("answer of %s", got)
	}
	old[0].Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Firebolt-Drained", "true")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	for range 6 {
		if got := ask(); got != "old" {
			t.Fatalf("answer of %s", got)
		}
	}
	r.pod(t, "127.0.0.4", named("new"))
	answered := make(chan string)
	old[1].Close() // none is left that the gateway knows
	go func() {
		status, text, err := r.ask(t, "/", "etl", "SELECT 2")
		answered <- fmt.Sprintf("%d %.3s %v", status, text, err)
	}()
	r.point("etl", "127.0.0.4")
	if got := <-answered; got != "200 new <nil>" {
		t.Errorf("a query amid the switch: %s", got)
	}
}

func TestAnAnswerIsTheClients(t *testing.T) {
	r := newRig(t)
	r.point("etl", "127.0.0.2")
	var asked atomic.Int32
	r.pod(t, "127.0.0.2", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "no such table", http.StatusInternalServerError)
	})
	status, text, err := r.ask(t, "/", "etl", "SELECT * FROM x")
	if err != nil || status != http.StatusInternalServerError || text != "no such table\n" || asked.Load() != 1 {
		t.Errorf("%d %q %v, asked %d times", status, text, err, asked.Load())
	}
}

// TestAnAnswerThatBreaksOffIsNotAskedForAgain holds for a query that a pod has taken: it was run, so it fails.
func TestAnAnswerThatBreaksOffIsNotAskedForAgain(t *testing.T) {
	r := newRig(t)
	r.point("etl", "127.0.0.2")
	var asked atomic.Int32
	r.pod(t, "127.0.0.2", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("begin the answer: %v", err)
		}
		panic(http.ErrAbortHandler)
	})
	status, _, err := r.ask(t, "/", "etl", "SELECT 1")
	if status != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) || asked.Load() != 1 {
		t.Errorf("%d %v, asked %d times, want an answer that begins and breaks off", status, err, asked.Load())
	}
}

func TestItFailsItsHealthCheckWhenTold(t *testing.T) {
	r := newRig(t)
	answer, err := http.Post("http://"+r.config.Admin+"/healthcheck/fail", "", nil) //nolint:noctx // at once
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("fail: %v %v", answer, err)
	}
	_ = answer.Body.Close()
	if err := r.is(t, "http://"+r.config.Stats+"/healthz", http.StatusServiceUnavailable); err != nil {
		t.Error(err)
	}
	if err := r.is(t, "http://"+r.config.Stats+"/stats/prometheus", http.StatusOK); err != nil {
		t.Error(err)
	}
	if err := r.is(t, "http://"+r.config.Stats+"/healthcheck/ok", http.StatusNotFound); err != nil {
		t.Error(err)
	}
}

func TestAConfigurationIsRefused(t *testing.T) {
	good := configuration(t, []int{1, 2, 3, 4})
	for name, tc := range map[string]struct{ old, new, want string }{
		"as it is":        {"", "", ""},
		"an unknown key":  {"connect_timeout:", "conect_timeout:", "conect_timeout"},
		"against a rule":  {"connect_timeout: 0.250s", "connect_timeout: -1s", "ConnectTimeout"},
		"another filter":  {"http.router.v3.Router", "http.buffer.v3.Buffer", "Buffer"},
		"no health check": {"    health_checks:\n    - healthy_threshold: 1", "    nothing:\n    - healthy_threshold: 1", "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, tc.old) {
				t.Fatalf("no %q in the configuration", tc.old)
			}
			file := filepath.Join(t.TempDir(), "envoy.yaml")
			if err := os.WriteFile(file, []byte(strings.Replace(good, tc.old, tc.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			want := 1
			if tc.old == "" {
				want = 0
			}
			code, said := goprogram.Wait(t, goprogram.Start(t, program, nil, "--mode", "validate", "--config-path", file), expect.Long)
			if code != want || !strings.Contains(said, tc.want) {
				t.Errorf("exit status %d, %q, want %d and %q", code, said, want, tc.want)
			}
		})
	}
}
