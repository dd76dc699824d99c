package faults

import (
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// each runs a test on every server of this scale.
func each(t *testing.T, test func(s *stage)) {
	t.Helper()
	for _, vendor := range vendors() {
		t.Run(string(vendor), func(t *testing.T) { test(newStage(t, cluster.Get(t), vendor)) })
	}
}

func TestMySQLKilledUnderLoad(t *testing.T) {
	each(t, func(s *stage) {
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
	each(t, func(s *stage) {
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
	each(t, func(s *stage) {
		s.start()
		l := s.load(operations)
		l.during(func(int) {
			s.nats.Stop()
			l.reached(float64(l.done.Load())/float64(l.total) + 0.02)
			s.nats.Start()
		})
		s.agree()
	})
}
