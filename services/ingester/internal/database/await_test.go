package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// fakeServer sends the next answer to each connection, and the last one to all further connections.
type fakeServer struct{ answers []error }

func (a *fakeServer) Driver() driver.Driver { return nil }

func (a *fakeServer) Connect(context.Context) (driver.Conn, error) {
	err := a.answers[0]
	if len(a.answers) > 1 {
		a.answers = a.answers[1:]
	}
	return idle{}, err
}

type idle struct{}

func (idle) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (idle) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }
func (idle) Close() error                        { return nil }

func TestAwaitRetriesConnectionFailuresOnly(t *testing.T) {
	unresolved := &net.DNSError{Err: "i/o timeout", Name: "mysql", IsTimeout: true}
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	denied := &mysql.MySQLError{Number: 1045, Message: "Access denied"}
	for name, test := range map[string]struct {
		answers  []error
		patient  time.Duration
		want     error
		reported []error
	}{
		"an answer after transient errors": {[]error{unresolved, unresolved, refused, nil}, time.Minute, nil, []error{unresolved, refused}},
		"an immediate answer":              {[]error{nil}, time.Minute, nil, nil},
		"a permanent error":                {[]error{unresolved, denied, nil}, time.Minute, denied, []error{unresolved}},
		"no answer":                        {[]error{refused}, 100 * time.Millisecond, refused, []error{refused}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), test.patient)
			defer cancel()
			db := sql.OpenDB(&fakeServer{test.answers})
			defer db.Close()
			var reported []error
			if err := Await(ctx, db, time.Millisecond, func(cause error) { reported = append(reported, cause) }); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if !slices.EqualFunc(reported, test.reported, errors.Is) {
				t.Errorf("reported %v, want each error once: %v", reported, test.reported)
			}
		})
	}
}
