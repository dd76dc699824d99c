package faults

import (
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// forEachVendor runs a test on every server of this scale.
func forEachVendor(t *testing.T, test func(s *env)) {
	t.Helper()
	for _, vendor := range vendors() {
		t.Run(string(vendor), func(t *testing.T) { test(newEnv(t, cluster.Get(t), vendor)) })
	}
}

func TestMySQLKilledUnderLoad(t *testing.T) {
	forEachVendor(t, func(s *env) {
		s.start()
		l := s.load(operations)
		l.during(func(int) {
			s.mysql.Kill()
			s.mysql.Start()
		})
		s.agree()
	})
}

func TestIngesterKilledAtRandomTimes(t *testing.T) {
	forEachVendor(t, func(s *env) {
		i := s.start()
		l := s.load(operations)
		l.during(func(int) {
			i.kill()
			i = s.start()
		})
		i.ready(true)
		s.agree()
		i.stop()
	})
}

func TestNATSOutage(t *testing.T) {
	forEachVendor(t, func(s *env) {
		s.start()
		l := s.load(operations)
		l.during(func(int) {
			s.nats.Stop()
			l.waitForPart(float64(l.done.Load())/float64(l.total) + 0.02)
			s.nats.Start()
		})
		s.agree()
	})
}
