package scripts_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

func TestCreateDatabaseRunsOnce(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		for _, name := range []string{uniqueName("plain"), uniqueName(maliciousName), uniqueName("a=b host=nowhere")} {
			r.env["DB_NAME"] = name
			r.drop(t, name)
			succeeds(t, r.createDatabase)
			r.query(t, name, "CREATE TABLE kept (id INT)")
			succeeds(t, r.createDatabase)
			r.query(t, name, "SELECT * FROM kept")
		}
	})
}

// TestCreateDatabaseReportsFailure checks that a rejected password fails without a retry.
func TestCreateDatabaseReportsFailure(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		r.env["DB_NAME"], r.env["DB_PASS"] = uniqueName("never"), "wrong password"
		begin := time.Now()
		fails(t, r.createDatabase)
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestCreateDatabaseWaitsForServer connects to a server that refuses connections at first. Then a PostgreSQL server
// answers once that it is starting up.
func TestCreateDatabaseWaitsForServer(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		r.env["DB_NAME"] = uniqueName("late")
		r.drop(t, r.env["DB_NAME"])
		r.listenLate(t)
		succeeds(t, r.createDatabase)
		r.query(t, r.env["DB_NAME"], "CREATE TABLE found (id INT)")
	})
}

// TestCreateDatabaseEndsWithoutServer lets the time of the script pass 40 times faster.
func TestCreateDatabaseEndsWithoutServer(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		r.env["DB_NAME"], r.env["DB_PORT"] = "never", closedPort(t)
		r.installStub(t, "date", `echo $(($(/bin/date +%s) * 40))`)
		fails(t, r.createDatabase, "connect")
	})
}

// closedPort returns a port without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

// listenLate makes the script connect to a port that forwards to the server after 2 s.
func (r runner) listenLate(t *testing.T) {
	t.Helper()
	server := net.JoinHostPort(r.env["DB_HOST"], r.env["DB_PORT"])
	r.env["DB_HOST"], r.env["DB_PORT"] = "127.0.0.1", closedPort(t)
	address := net.JoinHostPort("127.0.0.1", r.env["DB_PORT"])
	timer := time.AfterFunc(2*time.Second, func() {
		var config net.ListenConfig
		l, err := config.Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = l.Close() })
		starting := r.kind() == v1alpha1.PostgreSQL
		for {
			conn, err := l.Accept()
			if err != nil {
				return // the test ended
			}
			if starting {
				starting = false
				rejectStarting(conn)
				continue
			}
			go forward(t.Context(), conn, server)
		}
	})
	t.Cleanup(func() { timer.Stop() })
}

// rejectStarting answers as a PostgreSQL server that starts.
func rejectStarting(conn net.Conn) {
	defer conn.Close()
	request := make([]byte, 1024)
	n, err := conn.Read(request)
	if err == nil && n == 8 { // a request for TLS or GSSAPI comes first
		if _, err = conn.Write([]byte("N")); err == nil {
			_, err = conn.Read(request)
		}
	}
	const fields = "SFATAL\x00VFATAL\x00C57P03\x00Mthe database system is starting up\x00\x00"
	if err == nil {
		_, _ = fmt.Fprintf(conn, "E\x00\x00\x00%c%s", len(fields)+4, fields)
	}
}

func forward(ctx context.Context, conn net.Conn, server string) {
	defer conn.Close()
	var dialer net.Dialer
	to, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		defer to.Close()
		_, _ = io.Copy(to, conn)
	}()
	_, _ = io.Copy(conn, to)
}
