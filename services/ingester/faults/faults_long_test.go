//go:build long

package faults

import (
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

func TestMySQLNetworkPartition(t *testing.T) {
	forEachVendor(t, func(s *env) {
		p := newProxy(t, s.mysql.Address())
		s.viaAddress(p.address(), func(*mysql.Config) {})
		i := s.start()
		l := s.load(operations)
		l.during(func(int) {
			p.disconnect()
			i.ready(false)
			p.resume()
			i.ready(true)
		})
		s.agree()
	})
}

// TestMySQLNetworkStall: a stalled connection cannot be distinguished from a slow one. The ingester closes it
// after the timeout of the DSN, 30 seconds by default, and continues with new connections.
func TestMySQLNetworkStall(t *testing.T) {
	forEachVendor(t, func(s *env) {
		p := newProxy(t, s.mysql.Address())
		s.viaAddress(p.address(), func(cfg *mysql.Config) { cfg.ReadTimeout, cfg.WriteTimeout = 2*time.Second, 2*time.Second })
		i := s.start()
		l := s.load(operations)
		l.during(func(int) {
			p.stall()
			i.ready(false)
			p.resume()
			i.ready(true)
		})
		s.agree()
	})
}

func TestTwoConcurrentIngesters(t *testing.T) {
	forEachVendor(t, func(s *env) {
		pair := []*ingester{s.start(), s.start()}
		l := s.load(operations)
		l.during(func(i int) {
			pair[i%2].kill()
			pair[i%2] = s.start()
		})
		s.agree()
		pair[0].stop()
		pair[1].stop()
	})
}

// All faults, at random moments.
func TestCombinedFaults(t *testing.T) {
	forEachVendor(t, func(s *env) {
		p := newProxy(t, s.mysql.Address())
		s.viaAddress(p.address(), func(cfg *mysql.Config) { cfg.ReadTimeout, cfg.WriteTimeout = 2*time.Second, 2*time.Second })
		i := s.start()
		l := s.load(operations)
		l.during(func(n int) {
			switch n % 4 {
			case 0:
				s.nats.Stop()
				s.mysql.Kill()
				i.kill()
				s.mysql.Start()
				i = s.start()
				s.nats.Start()
			case 1:
				p.stall()
				s.nats.Stop()
				i.kill()
				i = s.start()
				s.nats.Start()
				p.resume()
			case 2:
				p.disconnect()
				s.mysql.Kill()
				s.mysql.Start()
				p.resume()
			case 3:
				s.mysql.Kill()
				s.mysql.Start()
				i.kill()
				i = s.start()
			}
		})
		s.agree()
	})
}

// viaAddress makes the ingesters connect to MySQL at another address.
func (s *env) viaAddress(address string, change func(*mysql.Config)) {
	s.Helper()
	cfg, err := mysql.ParseDSN(s.dsn)
	if err != nil {
		s.Fatal(err)
	}
	cfg.Addr = address
	change(cfg)
	s.dsn = cfg.FormatDSN()
}
