// Package failover detects that another MySQL server answers, or that the server was restarted. Such a server may lack
// the last transactions: a replica that lagged, or a server that lost power and does not sync each commit to its disk.
// Their objects did not change since, so no event would store them again: the monitor has all objects compared with their
// rows once more. An eviction that such a server lacks is the subject of package checkpoint.
package failover

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	ingestermetrics "github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
)

const (
	interval = 10 * time.Second
	timeout  = 10 * time.Second
	// minInterval is the minimum time between two comparisons of all objects. Behind a proxy that balances connections,
	// different servers answer all the time.
	minInterval = 15 * time.Minute
	// tolerance is the maximum error of the start of a server, which is computed from two readings in whole seconds.
	tolerance = 3
)

// Monitor detects other servers and restarts. The leader runs it; it is a manager.Runnable.
type Monitor struct {
	DB      *sql.DB
	Clock   clock.WithTicker
	Log     logr.Logger
	Metrics *ingestermetrics.Metrics
	// Ready is closed once the schema is current.
	Ready <-chan struct{}
	// Resync has all objects compared with their rows. Commits since the given time may be lost.
	Resync func(since time.Time)

	state  state
	failed bool // the last identification
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (m *Monitor) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (m *Monitor) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-m.Ready:
	}
	for {
		m.check(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-m.Clock.After(interval):
		}
	}
}

// check compares the server with the previous one. A failure to identify it is repeated at the next interval, and is not a
// change.
func (m *Monitor) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found, err := read(ctx, m.DB)
	if err != nil {
		if !m.failed {
			m.Log.Info("Failed to identify the MySQL server, a failover is not noticed until it succeeds", "reason", err.Error())
		}
		m.failed = true
		return
	}
	if m.failed || !m.state.known {
		m.Log.Info("Identified the MySQL server", "server", found.name)
	}
	m.failed = false
	if since, due := m.state.observe(found, m.Clock.Now()); due {
		m.Log.Info("Comparing all objects with their rows, since another MySQL server answers or it was restarted", "server", found.name)
		m.Metrics.Resyncs.Inc()
		m.Resync(since)
	}
}

// server identifies a running server.
type server struct {
	name    string // host, port and server_id
	started int64  // Unix seconds, by the clock of the server
}

// read identifies the server on one connection.
func read(ctx context.Context, db *sql.DB) (found server, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return server{}, fmt.Errorf("connect: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }() // returns it to the pool
	var now, uptime int64
	const identity = "SELECT CONCAT(@@GLOBAL.hostname, ':', @@GLOBAL.port, '/', @@GLOBAL.server_id), UNIX_TIMESTAMP()"
	if err := conn.QueryRowContext(ctx, identity).Scan(&found.name, &now); err != nil {
		return server{}, fmt.Errorf("read the name of the server: %w", err)
	}
	var variable string
	if err := conn.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&variable, &uptime); err != nil {
		return server{}, fmt.Errorf("read the uptime: %w", err)
	}
	found.started = now - uptime
	return found, nil
}

// state is what is known of the server. Its zero value knows none.
type state struct {
	last  server
	known bool
	seen  time.Time // when last answered for the last time
	due   bool      // the change was not followed by a comparison yet
	since time.Time // when the server before the change answered for the last time
	at    time.Time // of the last comparison
}

// observe reports whether to compare all objects now, and the time since which commits may be lost. The first server does
// not count: a leader compares all objects when it starts.
func (s *state) observe(found server, now time.Time) (since time.Time, due bool) {
	shift := found.started - s.last.started
	changed := found.name != s.last.name || shift > tolerance || shift < -tolerance
	if s.known && changed && !s.due {
		s.due, s.since = true, s.seen
	}
	if !s.known || changed {
		s.last, s.known = found, true
	}
	s.seen = now
	if !s.due || !s.at.IsZero() && now.Sub(s.at) < minInterval {
		return time.Time{}, false
	}
	s.due, s.at = false, now
	return s.since, true
}
