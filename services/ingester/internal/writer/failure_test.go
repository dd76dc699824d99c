package writer_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-sql-driver/mysql"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// refusal rejects all connections, once answer is closed. It sends to requested before.
type refusal struct{ requested, answer chan struct{} }

func (*refusal) Driver() driver.Driver { return nil }

func (r *refusal) Connect(context.Context) (driver.Conn, error) {
	r.requested <- struct{}{}
	<-r.answer
	return nil, &mysql.MySQLError{Number: 1045, Message: "Access denied"}
}

// errorSink keeps the lines of errors.
type errorSink struct {
	mu    sync.Mutex
	lines []string
}

func (s *errorSink) Init(logr.RuntimeInfo)          {}
func (s *errorSink) Enabled(int) bool               { return true }
func (s *errorSink) Info(int, string, ...any)       {}
func (s *errorSink) WithValues(...any) logr.LogSink { return s }
func (s *errorSink) WithName(string) logr.LogSink   { return s }
func (s *errorSink) Error(_ error, m string, kv ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; i+1 < len(kv); i += 2 {
		m += fmt.Sprintf(", %v %v", kv[i], kv[i+1])
	}
	s.lines = append(s.lines, m)
}

// TestFailedBatchIsLoggedOnce fails a batch of one write, and one of many: the time does not advance, so the second batch
// waits until it is full.
func TestFailedBatchIsLoggedOnce(t *testing.T) {
	const objects = 7
	server := &refusal{requested: make(chan struct{}), answer: make(chan struct{})}
	sink := &errorSink{}
	w := newWriter(t, sql.OpenDB(server), func(c *writer.Config) {
		c.Clock, c.Log = clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), logr.New(sink)
		c.Slots, c.MaxRows = 2, objects
	})
	var writes sync.WaitGroup
	start := func(uid string) {
		r := model(t, "m-"+uid, uid, 1, record.Live)
		writes.Go(func() {
			_, err := w.Write(t.Context(), r)
			if _, ok := errors.AsType[*mysql.MySQLError](err); !ok {
				t.Errorf("write %s: got %v, want the error of the server", uid, err)
			}
		})
	}
	start("first")
	<-server.requested
	for i := range objects {
		start(fmt.Sprint(i))
	}
	<-server.requested
	close(server.answer)
	writes.Wait()
	slices.Sort(sink.lines)
	equal(t, "lines", []string{
		"Failed to write batch, kind Model, objects 1",
		"Failed to write batch, kind Model, objects 7",
	}, sink.lines)
}

// TestWritesOfCallersThatLeftAreDropped repeats writes with short contexts while the server does not answer.
func TestWritesOfCallersThatLeftAreDropped(t *testing.T) {
	const repetitions = 20
	server := &refusal{requested: make(chan struct{}, 1+repetitions), answer: make(chan struct{})}
	sink := &errorSink{}
	w := newWriter(t, sql.OpenDB(server), func(c *writer.Config) { c.Log, c.Slots = logr.New(sink), 1 })
	var first sync.WaitGroup
	r := model(t, "m", "a", 1, record.Live)
	first.Go(func() {
		if _, err := w.Write(t.Context(), r); err == nil {
			t.Error("the first write succeeded")
		}
	})
	<-server.requested
	for i := range repetitions {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := w.Write(ctx, model(t, "n", fmt.Sprint(i%2), int64(i+1), record.Live)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("write %d: got %v, want %v", i, err, context.DeadlineExceeded)
		}
		cancel()
	}
	close(server.answer)
	first.Wait()
	w.Close() // writes what still waits
	equal(t, "lines", []string{"Failed to write batch, kind Model, objects 1"}, sink.lines)
}
