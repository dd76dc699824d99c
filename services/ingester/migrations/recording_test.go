package migrations_test

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
)

// recording records the statements that are sent to the server, with their values, and
// their results.
type recording struct {
	driver.Connector
	mu      sync.Mutex
	enabled bool
	entries []string
}

func newRecording(t *testing.T, dsn string) *recording {
	t.Helper()
	connector, err := database.Settings{DSN: dsn + "&interpolateParams=true"}.Connector()
	if err != nil {
		t.Fatal(err)
	}
	return &recording{Connector: connector}
}

func (r *recording) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enabled = true
}

// text renders the recording for [replay].
func (r *recording) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.entries, "")
}

func (r *recording) record(result, statement string, args []driver.NamedValue) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.enabled {
		return nil
	}
	for _, arg := range args {
		value, err := literal(arg.Value)
		if err != nil {
			return err
		}
		before, after, _ := strings.Cut(statement, "?")
		// A mark that stands for the question marks of the value.
		statement = before + strings.ReplaceAll(value, "?", "\x00") + after
	}
	r.entries = append(r.entries, "-- "+result+"\n"+strings.ReplaceAll(statement, "\x00", "?")+";\n")
	return nil
}

var escapes = strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\x00", `\0`)

func literal(v driver.Value) (string, error) {
	switch v := v.(type) {
	case nil:
		return "NULL", nil
	case int64, float64, bool:
		return fmt.Sprint(v), nil
	case string:
		return "'" + escapes.Replace(v) + "'", nil
	case []byte:
		return "X'" + hex.EncodeToString(v) + "'", nil
	case time.Time:
		return "'" + v.UTC().Format("2006-01-02 15:04:05.000000") + "'", nil
	}
	return "", fmt.Errorf("no literal for a %T", v)
}

func (r *recording) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &recordedConn{Conn: conn, rec: r}, nil
}

type recordedConn struct {
	driver.Conn
	rec *recording
}

func (c *recordedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	if err != nil {
		return result, err
	}
	return result, c.rec.executed(result, query, args)
}

func (r *recording) executed(result driver.Result, query string, args []driver.NamedValue) error {
	affected, err := result.RowsAffected()
	return errors.Join(err, r.record(fmt.Sprint("affected ", affected), query, args))
}

func (c *recordedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil {
		return rows, err
	}
	return rows, c.rec.record("asked", query, args)
}

func (c *recordedConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
	if err != nil {
		return nil, err
	}
	return &recordedTx{Tx: tx, rec: c.rec}, c.rec.record("affected 0", "BEGIN", nil)
}

func (c *recordedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &recordedStmt{Stmt: stmt, query: query, rec: c.rec}, nil
}

type recordedStmt struct {
	driver.Stmt
	query string
	rec   *recording
}

func (s *recordedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		return result, err
	}
	return result, s.rec.executed(result, s.query, args)
}

func (s *recordedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return rows, err
	}
	return rows, s.rec.record("asked", s.query, args)
}

// CheckNamedValue lets the driver convert arguments as it does without a recording.
func (s *recordedStmt) CheckNamedValue(v *driver.NamedValue) error {
	return s.Stmt.(driver.NamedValueChecker).CheckNamedValue(v)
}

// CheckNamedValue lets the driver convert arguments as it does without a recording.
func (c *recordedConn) CheckNamedValue(v *driver.NamedValue) error {
	return c.Conn.(driver.NamedValueChecker).CheckNamedValue(v)
}

type recordedTx struct {
	driver.Tx
	rec *recording
}

func (tx *recordedTx) Commit() error {
	return errors.Join(tx.rec.record("affected 0", "COMMIT", nil), tx.Tx.Commit())
}

func (tx *recordedTx) Rollback() error {
	return errors.Join(tx.rec.record("affected 0", "ROLLBACK", nil), tx.Tx.Rollback())
}
