package gateway_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// first injects a fault into the first attempt of each query, at any host; later attempts are served.
func first(fault func(*query)) func(*query) {
	return func(q *query) {
		if q.attempt > 1 {
			serve(q)
			return
		}
		fault(q)
	}
}

// TestFailuresRunNoQueryTwice injects every failure of an engine into the real Envoy, which must not repeat a query that
// may have run. Only an engine that wrongly marks such a query as not run causes a repetition.
func TestFailuresRunNoQueryTwice(t *testing.T) {
	onAllHosts := func(handler func(*query)) func(*testing.T, *system) {
		return func(_ *testing.T, s *system) {
			for _, h := range s.hosts {
				h.set(handler)
			}
		}
	}
	onOneHost := func(inject func(*testing.T, *host)) func(*testing.T, *system) {
		return func(t *testing.T, s *system) {
			t.Helper()
			inject(t, s.hosts[0])
		}
	}
	const n = 60
	served, refused, lost := outcomes{OK: n}, outcomes{Failed: n}, outcomes{Failed: n, Lost: n}
	cases := map[string]struct {
		with func(*testing.T, *system)
		body int
		want *outcomes // nil: the number of failures is a race; no query runs twice, and no failed query runs
	}{
		"none":           {func(*testing.T, *system) {}, 0, &served},
		"refused by one": {onOneHost(func(_ *testing.T, h *host) { h.refuse() }), 0, &served},
		"SYN dropped by one": {onOneHost(func(t *testing.T, h *host) {
			t.Helper()
			h.dropPackets(t)
		}), 0, &served},
		"accepted and reset unread by one": {onOneHost(func(_ *testing.T, h *host) { h.setAccepted(resetUnread) }), 0, nil},
		"reset after the headers":          {onAllHosts(first(func(q *query) { q.reset() })), 0, &refused},
		"reset after the request":          {onAllHosts(first(func(q *query) { q.body(); q.reset() })), 0, &refused},
		"closed before an answer":          {onAllHosts(first(func(q *query) { q.body(); q.finish() })), 0, &refused},
		"ran, then reset":                  {onAllHosts(first(func(q *query) { q.run(); q.reset() })), 0, &lost},
		"ran, then closed":                 {onAllHosts(first(func(q *query) { q.run(); q.finish() })), 0, &lost},
		"ran, half a status line, reset":   {onAllHosts(first(func(q *query) { q.run(); fmt.Fprint(q.conn, "HTTP/1.1 2"); q.reset() })), 0, &lost},
		"ran, then reset, each try":        {onAllHosts(func(q *query) { q.run(); q.reset() }), 0, &lost},
		"ran, reset within the answer":     {onAllHosts(first(truncate)), 0, &lost},
		"ran, 503 without the mark":        {onAllHosts(first(func(q *query) { q.run(); q.respond("503 Service Unavailable") })), 0, &lost},
		"marked":                           {onAllHosts(first((*query).drained)), 0, &served},
		"marked before the body is read":   {onAllHosts(first(markUnread)), 1 << 20, &served},
		"marked, 3 MB":                     {onAllHosts(first((*query).drained)), 3 << 20, &served},
		"refused by one, 3 MB":             {onOneHost(func(_ *testing.T, h *host) { h.refuse() }), 3 << 20, &served},
		"marked, but ran":                  {onAllHosts(first(func(q *query) { q.run(); q.drained() })), 0, &outcomes{OK: n, Repeated: n}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t, 3)
			tc.with(t, s)
			got := s.outcomes(s.load(t.Context(), n, 4, tc.body))
			t.Logf("%+v", got)
			want := outcomes{OK: got.OK, Failed: got.Failed}
			if tc.want != nil {
				want = *tc.want
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

// dropPackets replaces the host's listener with one that drops every SYN.
func (h *host) dropPackets(t *testing.T) {
	t.Helper()
	h.kill()
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error { return dropAll(raw) }}
	l, err := config.Listen(t.Context(), "tcp", h.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // the test ends
}

func resetUnread(c *net.TCPConn) bool {
	_ = c.SetLinger(0) // the fault itself
	_ = c.Close()      // the fault itself
	return false
}

func truncate(q *query) {
	q.run()
	fmt.Fprint(q.conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
	q.reset()
}

// markUnread sends an early response without losing it, like an engine: it closes its half and continues reading.
func markUnread(q *query) {
	fmt.Fprint(q.conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\nX-Firebolt-Drained: true\r\n\r\n")
	_ = q.conn.CloseWrite() // the fault itself
	q.body()
}

func TestMarkedResponsesReachClient(t *testing.T) {
	s := newSystem(t, 3)
	for _, h := range s.hosts {
		h.set((*query).drained)
	}
	r := s.query(t.Context(), "q", nil)
	if r.status != http.StatusServiceUnavailable || !r.drained || s.attempts("q") != 51 {
		t.Errorf("got %+v after %d tries, want the mark after 51", r, s.attempts("q"))
	}
}

// TestMarkedResponseEjectsHost sends queries faster than health checks: without the ejection each third query would try the host.
func TestMarkedResponseEjectsHost(t *testing.T) {
	s := newSystem(t, 3)
	s.hosts[0].set((*query).drained)
	s.hosts[0].setReady(false)
	const n = 90
	if got := s.outcomes(s.load(t.Context(), n, 1, 0)); got != (outcomes{OK: n}) {
		t.Errorf("got %+v", got)
	}
	if attempts := s.attemptsAt(s.hosts[0].address); attempts > 3 {
		t.Errorf("the host that marks was tried %d times for %d queries, want at most once for each worker", attempts, n)
	}
}

// TestManyQueriesSurviveUnavailableEngine runs more concurrent queries than a lower retry limit would allow.
func TestManyQueriesSurviveUnavailableEngine(t *testing.T) {
	const n = 300
	t.Run("all refuse", func(t *testing.T) {
		s := newSystem(t, 3)
		for _, h := range s.hosts {
			h.refuse()
		}
		time.AfterFunc(time.Second, func() {
			for _, h := range s.hosts {
				h.open(t)
			}
		})
		if got := s.outcomes(s.load(t.Context(), n, n, 0)); got != (outcomes{OK: n}) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("all mark", func(t *testing.T) {
		s := newSystem(t, 3)
		back := time.Now().Add(time.Second)
		for _, h := range s.hosts {
			h.set(func(q *query) {
				if time.Now().Before(back) {
					q.drained()
					return
				}
				serve(q)
			})
		}
		if got := s.outcomes(s.load(t.Context(), n, n, 0)); got != (outcomes{OK: n}) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("retried ones that run on", func(t *testing.T) {
		s := newSystem(t, 3)
		release := make(chan struct{})
		for _, h := range s.hosts {
			h.set(func(q *query) {
				if q.attempt == 1 {
					q.drained()
					return
				}
				q.run()
				if !strings.HasPrefix(q.id, "late") {
					<-release
				}
				q.respond("200 OK")
			})
		}
		done := make(chan []result)
		go func() { done <- s.load(t.Context(), n, n, 0) }()
		s.await(t, func() bool { return len(s.runs) == n+1 }) // and the first
		for i := range 20 {
			if r := s.query(t.Context(), fmt.Sprint("late", i), nil); r.status != http.StatusOK {
				t.Errorf("a late query: %+v", r)
			}
		}
		close(release)
		if got := s.outcomes(<-done); got != (outcomes{OK: n}) {
			t.Errorf("got %+v", got)
		}
	})
}

func (s *system) await(t *testing.T, done func() bool) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !done() {
			return errors.New("not yet")
		}
		return nil
	})
}

func TestUnbufferedLargeBodyGetsClearError(t *testing.T) {
	s := newSystem(t, 1)
	s.hosts[0].refuse()
	const queries = 20
	for range queries {
		r := s.query(t.Context(), "large", strings.NewReader(strings.Repeat("x", 20<<20)))
		t.Logf("%+v", r)
		if s.count("large") != 0 {
			t.Fatal("it ran")
		}
		switch r.status {
		case http.StatusInsufficientStorage:
			if !strings.Contains(r.text, "exceeded request buffer limit") {
				t.Errorf("the response has no cause: %+v", r)
			}
			return
		case http.StatusServiceUnavailable: // the retries were exhausted before the client had sent the buffered body
		default:
			t.Fatalf("got %+v", r)
		}
	}
	t.Errorf("none of %d responses reports the limit", queries)
}

// TestSlowEngineGetsWholeQuery has engines that are alive and read nothing for longer than the bound of lost nodes.
func TestSlowEngineGetsWholeQuery(t *testing.T) {
	s := newSystem(t, 3)
	for _, h := range s.hosts {
		h.set(func(q *query) {
			select {
			case <-t.Context().Done():
			case <-time.After(15 * time.Second):
				serve(q)
			}
		})
	}
	const n = 4
	if got := s.outcomes(s.load(t.Context(), n, n, 3<<20)); got != (outcomes{OK: n}) {
		t.Errorf("got %+v", got)
	}
}

func TestLostNodeFailsWithinSeconds(t *testing.T) {
	lost := func(run func(*query)) func(*query) {
		return func(q *query) { run(q); dropPackets(t, q.conn); <-t.Context().Done() }
	}
	cases := map[string]struct {
		fault  func(*query)
		edit   func(*managerv3.HttpConnectionManager)
		status int
	}{
		"while it runs": {lost((*query).run), func(*managerv3.HttpConnectionManager) {}, http.StatusServiceUnavailable},
		"while the query is sent": {
			lost(func(*query) {}),
			func(m *managerv3.HttpConnectionManager) { m.StreamIdleTimeout = durationpb.New(3 * time.Second) },
			http.StatusGatewayTimeout,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t, 3, tc.edit)
			for _, h := range s.hosts {
				h.set(first(tc.fault))
			}
			r := s.query(t.Context(), "q", strings.NewReader(strings.Repeat("x", 1<<20)))
			t.Logf("%+v", r)
			if r.status != tc.status || r.duration > 20*time.Second || s.attempts("q") != 1 {
				t.Errorf("got %+v after %d tries, want %d within 20 s after one", r, s.attempts("q"), tc.status)
			}
		})
	}
}
