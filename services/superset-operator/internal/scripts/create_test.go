package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
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

// TestCreateDatabaseReportsFailure checks that a rejected password fails without a retry, which would compare the time again.
func TestCreateDatabaseReportsFailure(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		r.env["DB_NAME"], r.env["DB_PASS"] = uniqueName("never"), "wrong password"
		attempts := r.countAttempts(t)
		fails(t, r.createDatabase)
		if n := attempts(); n != 1 {
			t.Errorf("%d attempts, want 1", n)
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
		r.env["DB_NAME"], r.env["DB_PORT"] = "never", freePort(t)
		r.installStub(t, "date", `echo $(($(/bin/date +%s) * 40))`)
		fails(t, r.createDatabase, "connect")
	})
}

// countAttempts returns a function that returns how many attempts of the script failed: it reads the time at its start, and
// after each of them.
func (r runner) countAttempts(t *testing.T) func() int {
	t.Helper()
	log := filepath.Join(t.TempDir(), "dates")
	r.installStub(t, "date", "echo >> "+log+"\nexec /bin/date \"$@\"")
	return func() int {
		lines, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		return max(len(lines)-1, 0)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}

// listenLate makes the script connect to a port that forwards to the server once an attempt was refused.
func (r runner) listenLate(t *testing.T) {
	t.Helper()
	server := net.JoinHostPort(r.env["DB_HOST"], r.env["DB_PORT"])
	r.env["DB_HOST"], r.env["DB_PORT"] = "127.0.0.1", freePort(t)
	attempts := r.countAttempts(t)
	go func() {
		err := await.Nil(t.Context(), expect.Long, 50*time.Millisecond, func(context.Context) error {
			if attempts() == 0 {
				return errors.New("no attempt failed")
			}
			return nil
		})
		if err == nil {
			err = serveLate(t.Context(), net.JoinHostPort("127.0.0.1", r.env["DB_PORT"]), server, r.kind() == v1alpha1.PostgreSQL)
		}
		if err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	}()
}

// serveLate forwards connections to a server until the context ends, after the first one if the server starts.
func serveLate(ctx context.Context, address, server string, starting bool) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		conn, err := l.Accept()
		switch {
		case err != nil:
			return err
		case starting:
			starting = false
			err = rejectStarting(conn)
		default:
			go forward(ctx, conn, server)
		}
		if err != nil {
			return err
		}
	}
}

// rejectStarting answers as a PostgreSQL server that starts.
func rejectStarting(conn net.Conn) error {
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
		_, err = fmt.Fprintf(conn, "E\x00\x00\x00%c%s", len(fields)+4, fields)
	}
	return err
}

// forward ends the connection with the first error, which the script reports.
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
