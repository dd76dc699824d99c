package gateway_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
)

// pod runs the stub engine like a pod.
type pod struct {
	*host
	stop  context.CancelFunc
	ended chan error
}

// newPods replaces the system's hosts with stub engines.
func newPods(t *testing.T, s *system) []*pod {
	t.Helper()
	var out []*pod
	for _, h := range s.hosts {
		h.refuse()
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		p := &pod{host: h, stop: stop, ended: make(chan error, 1)}
		ip, _, _ := strings.Cut(h.address, ":")
		o := server.Options{
			Query: h.address, Health: ip + ":8122", Metrics: ip + ":9090",
			Grace: time.Minute, Settle: 1500 * time.Millisecond, Identity: server.Identity{Pod: h.address},
			Logf: func(string, ...any) {},
		}
		go func() { p.ended <- server.Run(ctx, o) }()
		t.Cleanup(stop)
		s.await(t, func() bool {
			c, err := net.Dial("tcp", h.address) //nolint:noctx // loopback
			if err == nil {
				c.Close()
			}
			return err == nil
		})
		out = append(out, p)
	}
	return out
}

// TestPlannedRemovalFailsNoQuery terminates engines under load like Kubernetes. The stub engine counts its runs.
func TestPlannedRemovalFailsNoQuery(t *testing.T) {
	cases := map[string]struct{ from, survivors int }{
		"one of three": {0, 2}, "all but one": {1, 1}, "all, replaced by the others": {0, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t, 6)
			pods := newPods(t, s)
			old, kept := pods[:3-tc.survivors%3], pods[3-tc.survivors%3:3]
			if tc.survivors == 3 { // a generation is replaced
				old, kept = pods[:3], pods[3:]
			}
			var serving, after []*host
			for _, p := range pods[:3] {
				serving = append(serving, p.host)
			}
			for _, p := range kept {
				after = append(after, p.host)
			}
			s.names.set(serving...)
			ctx, done := context.WithCancel(t.Context())
			results := make(chan []result)
			go func() { results <- s.load(ctx, 1<<30, 20, 0) }()
			startID := s.next.Load()
			s.await(t, func() bool { return s.next.Load() > startID+200 })
			s.names.set(after...)
			for _, p := range old {
				p.stop()
			}
			for _, p := range old {
				if err := <-p.ended; err != nil {
					t.Error(err)
				}
			}
			endID := s.next.Load()
			s.await(t, func() bool { return s.next.Load() > endID+200 })
			done()
			var failed, n int
			for _, r := range <-results {
				if r.disconnected {
					continue // the load has ended
				}
				n++
				if r.status != 200 || r.truncated {
					failed++
					t.Logf("%+v", r)
				}
			}
			t.Logf("%d queries, %d failed", n, failed)
			if failed > 0 {
				t.Errorf("%d of %d queries failed", failed, n)
			}
		})
	}
}

// TestKilledEngineRepeatsNoQuery checks that the client loses the queries of a killed engine, and no other engine runs them.
func TestKilledEngineRepeatsNoQuery(t *testing.T) {
	const queries, clients = 60, 20
	s := newSystem(t, 3)
	var held int
	s.hosts[0].set(func(q *query) {
		q.run()
		s.mu.Lock()
		held++
		s.mu.Unlock()
		<-t.Context().Done()
	})
	done := make(chan []result)
	go func() { done <- s.load(t.Context(), queries, clients, 0) }()
	// No query is in flight: one that the killed engine received but did not run would fail as well.
	s.await(t, func() bool {
		sent := int(s.next.Load())
		const first = 1 // the first address of newSystem
		return len(s.runs) == first+sent && held > 0 && (sent == queries || held == clients)
	})
	s.hosts[0].kill()
	got := s.outcomes(<-done)
	t.Logf("%+v", got)
	if got.Repeated != 0 || got.Failed != got.Lost || got.Failed == 0 {
		t.Errorf("got %+v, want none twice, and failed what the killed engine ran", got)
	}
}
