package stubengine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine"
	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
)

func Example() {
	test := func(t *testing.T) {
		t.Helper()
		node := stubengine.Start(t)
		query := make(chan error, 1)
		go func() { query <- node.Query(t.Context(), time.Second) }()
		node.Terminate() // like a kubelet
		if err := <-query; err != nil && !errors.Is(err, stubengine.ErrRefused) {
			t.Error("a query was cut off:", err)
		}
	}
	fmt.Printf("a test is a %T", test)
	// Output: a test is a func(*testing.T)
}

// scrape reads the metrics like a client that follows redirects.
func scrape(ctx context.Context, n *stubengine.Node) (string, error) {
	address := "http://" + net.JoinHostPort(n.Address, strconv.Itoa(n.Ports.Metrics)) + "/metrics"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return fmt.Sprintf("%d\n%s", res.StatusCode, body), err
}

// wantMetrics waits until the metrics hold all of these lines.
func wantMetrics(t *testing.T, n *stubengine.Node, lines ...string) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		got, err := scrape(t.Context(), n)
		for _, l := range lines {
			if err == nil && !strings.Contains("\n"+got+"\n", "\n"+l+"\n") {
				err = fmt.Errorf("no line %q in\n%s", l, got)
			}
		}
		return err
	})
}

func TestMetricsCountRunningQueries(t *testing.T) {
	a, b := stubengine.Start(t), stubengine.Start(t)
	if a.Address == b.Address || a.Ports != b.Ports {
		t.Errorf("two nodes at %s %v and %s %v", a.Address, a.Ports, b.Address, b.Ports)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	go func() { ended <- a.Query(ctx, time.Hour) }()
	go func() { ended <- a.Query(ctx, time.Hour) }()
	go func() { ended <- a.Suspend(ctx, time.Hour) }()
	wantMetrics(t, a, "firebolt_running_queries 2", "firebolt_suspended_queries 1")
	wantMetrics(t, b, "firebolt_running_queries 0", "firebolt_suspended_queries 0")
	cancel()
	for range 3 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a query ended with %v", err)
		}
	}
	wantMetrics(t, a, "firebolt_running_queries 0", "firebolt_suspended_queries 0")
	if err := a.Query(t.Context(), 10*time.Millisecond); err != nil {
		t.Error(err)
	}
	expect.Eventually(t, expect.Long, func() error {
		if s, err := a.Stats(t.Context()); err != nil || s.Finished != 1 || s.Cut != 3 {
			return fmt.Errorf("stats %+v, %w", s, err)
		}
		return nil
	})
}

func TestMetricsPortFollowsMode(t *testing.T) {
	n := stubengine.Start(t)
	for mode, want := range map[server.Mode]string{
		server.Broken:   "500\nthe metrics are broken",
		server.Missing:  "200\n",
		server.Labeled:  `firebolt_running_queries{node="0"} 0`,
		server.Slow:     "firebolt_running_queries 0",
		server.Redirect: "firebolt_running_queries 0",
	} {
		if err := n.Metrics(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
		got, err := scrape(t.Context(), n)
		if err != nil || !strings.Contains(got, want) || (mode == server.Missing) != !strings.Contains(got, "suspended") && mode != server.Broken {
			t.Errorf("%s: %v\n%s", mode, err, got)
		}
	}
	if err := n.Metrics(t.Context(), server.Unresponsive); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if got, err := scrape(ctx, n); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("unresponsive: %v\n%s", err, got)
	}
	if err := n.Metrics(t.Context(), "smoke"); err == nil {
		t.Error("an unknown mode was accepted")
	}
	if err := n.Metrics(t.Context(), server.Normal); err != nil {
		t.Fatal(err)
	}
	wantMetrics(t, n, "firebolt_running_queries 0", "firebolt_suspended_queries 0")
}

func TestTerminatedNodeFinishesQueries(t *testing.T) {
	n := stubengine.Start(t)
	if !n.Ready(t.Context()) {
		t.Error("not ready")
	}
	ended := make(chan error, 1)
	go func() { ended <- n.Query(t.Context(), time.Second) }()
	wantMetrics(t, n, "firebolt_running_queries 1")
	n.Terminate()
	expect.Eventually(t, expect.Long, func() error {
		if err := n.Query(t.Context(), 0); !errors.Is(err, stubengine.ErrRefused) {
			return fmt.Errorf("a query after SIGTERM: %w", err)
		}
		return nil
	})
	if n.Ready(t.Context()) {
		t.Error("ready while terminating")
	}
	if !n.Live(t.Context()) {
		t.Error("not alive while terminating")
	}
	if err := <-ended; err != nil {
		t.Errorf("the query was cut off: %v", err)
	}
	<-n.Ended()
}

func TestKilledNodeCutsQueries(t *testing.T) {
	n := stubengine.Start(t)
	ended := make(chan error, 1)
	go func() { ended <- n.Query(t.Context(), time.Hour) }()
	wantMetrics(t, n, "firebolt_running_queries 1")
	n.Kill()
	if err := <-ended; err == nil {
		t.Error("the query was answered")
	}
}

func TestFrozenNodeDoesNotRespond(t *testing.T) {
	n := stubengine.Start(t)
	finish, running := startQuery(t, n)
	if err := n.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.Terminate()
	finish()
	for name, responds := range map[string]func(context.Context) bool{
		"the health port": n.Live,
		"the query port":  func(ctx context.Context) bool { return n.Query(ctx, 0) == nil },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if responds(ctx) {
			t.Errorf("%s of a frozen node answers", name)
		}
		cancel()
	}
	select {
	case err := <-running:
		t.Fatalf("the query ended: %v", err)
	case <-n.Ended():
		t.Fatal("SIGTERM ended a frozen node")
	default:
	}
	n.Kill()
	if err := <-running; err == nil {
		t.Error("the query was answered")
	}
}

// startQuery starts a query and returns when the node reads its body, which finish ends.
func startQuery(t *testing.T, n *stubengine.Node) (finish func(), ended <-chan error) {
	t.Helper()
	reads := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(reads) }})
	body, writer := io.Pipe()
	address := "http://" + net.JoinHostPort(n.Address, strconv.Itoa(n.Ports.Query))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Expect", "100-continue")
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	result := make(chan error, 1)
	go func() {
		response, err := client.Do(request)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			err = errors.Join(err, response.Body.Close())
		}
		result <- err
	}()
	<-reads
	return func() {
		if err := writer.Close(); err != nil {
			t.Error(err)
		}
	}, result
}

func TestTerminatedNodeCutsQueriesAfterGracePeriod(t *testing.T) {
	n, err := stubengine.Launch(t.Context(), 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Kill)
	ended := make(chan error, 1)
	go func() { ended <- n.Query(t.Context(), time.Hour) }()
	wantMetrics(t, n, "firebolt_running_queries 1")
	n.Terminate()
	<-n.Ended()
	if err := <-ended; err == nil {
		t.Error("the query was answered")
	}
}
