package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/outbox"
)

type fixture struct {
	*testing.T
	db      *sql.DB
	nats    *natstest.Server
	conn    *bus.Conn
	js      jetstream.JetStream
	metrics *metrics.Metrics
}

func newFixture(t *testing.T, options ...natstest.Option) *fixture {
	t.Helper()
	db, _ := dbtest.Migrated(t)
	f := &fixture{T: t, db: db, nats: natstest.Start(t, options...)}
	var err error
	if f.metrics, err = metrics.New(nil); err != nil {
		t.Fatal(err)
	}
	if f.conn, err = bus.Connect(bus.Config{URL: f.nats.URL(), Name: "ingester"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := f.conn.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	f.js = f.conn.JetStream()
	f.bootstrap()
	return f
}

func (f *fixture) bootstrap() {
	f.Helper()
	if err := bus.Bootstrap(f.Context(), f.js, bus.DefaultParams()); err != nil {
		f.Fatal(err)
	}
}

// add writes rows "name operation" as the writer would, all of uid u-<name>.
func (f *fixture) add(name string, n int, operation contract.ChangeOperation) {
	f.Helper()
	for i := range n {
		_, err := f.db.ExecContext(f.Context(), "INSERT INTO outbox (kind, namespace, name, uid, generation, res_version, operation, committed_at)"+
			" VALUES ('model', 'default', ?, ?, 1, ?, ?, '2026-11-21 04:42:00.123456')", name, "u-"+name, i+1, string(operation))
		if err != nil {
			f.Fatal(err)
		}
	}
}

func (f *fixture) config() outbox.Config {
	ready := make(chan struct{})
	close(ready)
	return outbox.Config{
		DB: f.db, JetStream: f.js, Connected: f.conn.Connected, Denied: f.conn.Denied, Cluster: "test",
		Metrics: f.metrics, Log: logr.Discard(), Clock: clock.RealClock{}, Ready: ready,
	}
}

func (f *fixture) relay(change ...func(*outbox.Config)) *outbox.Relay {
	f.Helper()
	cfg := f.config()
	for _, c := range change {
		c(&cfg)
	}
	r := outbox.New(cfg)
	ctx, cancel := context.WithCancel(f.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.Start(ctx); err != nil {
			f.Error(err)
		}
	})
	f.conn.OnReconnect(r.Reconnected)
	f.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return r
}

func (f *fixture) empty() {
	f.Helper()
	expect.Eventually(f, expect.Long, func() error {
		if n := dbtest.Strings(f, f.db, "SELECT COUNT(*) FROM outbox")[0]; n != "0" {
			return fmt.Errorf("%s rows wait", n)
		}
		return nil
	})
}

// messages reads the whole stream.
func (f *fixture) messages() []*jetstream.RawStreamMsg {
	f.Helper()
	return natstest.Messages(f, f.js, contract.StreamChanges)
}

// errorLog counts what is logged as an error.
type errorLog struct {
	mu    sync.Mutex
	count int
}

func (*errorLog) Init(logr.RuntimeInfo)            {}
func (*errorLog) Enabled(int) bool                 { return true }
func (*errorLog) Info(int, string, ...any)         {}
func (l *errorLog) WithValues(...any) logr.LogSink { return l }
func (l *errorLog) WithName(string) logr.LogSink   { return l }

func (l *errorLog) Error(error, string, ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
}

func (l *errorLog) lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// insert adds n rows of objects o0, o1, ... in turn, with ids from first, committed at the minute.
func (f *fixture) insert(first, n, objects, minute int) {
	f.Helper()
	const batchSize = 500
	for start := 0; start < n; start += batchSize {
		var rows []string
		for i := start; i < min(start+batchSize, n); i++ {
			rows = append(rows, fmt.Sprintf("(%d, 'model', 'default', 'o%d', 'u-o%d', 1, %d, 'updated', '2026-11-21 04:%02d:00')",
				first+i, (first+i)%objects, (first+i)%objects, first+i, minute))
		}
		_, err := f.db.ExecContext(f.Context(), "INSERT INTO outbox (id, kind, namespace, name, uid, generation, res_version, operation, committed_at) VALUES "+
			strings.Join(rows, ", "))
		if err != nil {
			f.Fatal(err)
		}
	}
}

// expectEachOnce checks the ids of all messages of the objects, each once and in the order of each object.
func (f *fixture) expectEachOnce(n int) {
	f.Helper()
	last := map[string]int64{}
	seen := map[int64]bool{}
	for _, m := range f.messages() {
		if strings.HasPrefix(m.Subject, probeSubject) {
			continue
		}
		_, change, err := contract.Decode[contract.Change](m.Data)
		if err != nil {
			f.Fatal(err)
		}
		if seen[change.OutboxID] {
			f.Errorf("event %d is there twice", change.OutboxID)
		}
		seen[change.OutboxID] = true
		if change.OutboxID < last[change.Object.UID] {
			f.Errorf("event %d of %s after %d", change.OutboxID, change.Object.UID, last[change.Object.UID])
		}
		last[change.Object.UID] = change.OutboxID
	}
	if len(seen) != n {
		f.Errorf("%d events, want %d", len(seen), n)
	}
}

// age removes the first events of the cluster from the stream, as its maximum age does.
func (f *fixture) age(n uint64) {
	f.Helper()
	stream, err := f.js.Stream(f.Context(), contract.StreamChanges)
	if err != nil {
		f.Fatal(err)
	}
	first := f.messages()[0].Sequence
	for _, m := range f.messages() {
		if strings.HasPrefix(m.Subject, probeSubject) {
			first = m.Sequence + 1
		}
	}
	if err := stream.Purge(f.Context(), jetstream.WithPurgeSequence(first+n)); err != nil {
		f.Fatal(err)
	}
}

// crashWhilePublishing runs a relay until fewer than n rows wait.
func (f *fixture) crashWhilePublishing(n int) {
	f.Helper()
	stop := f.run()
	defer stop()
	expect.Eventually(f, expect.Long, func() error {
		var waiting int
		if err := f.db.QueryRowContext(f.Context(), "SELECT COUNT(*) FROM outbox").Scan(&waiting); err != nil {
			return err
		}
		if waiting >= n {
			return fmt.Errorf("%d rows wait", waiting)
		}
		return nil
	})
}

const probeSubject = contract.ChangePrefix + ".probe"

// expireDuplicateWindow makes the stream drop all ids of its duplicate window, as after ten minutes.
func (f *fixture) expireDuplicateWindow() {
	f.Helper()
	stream, err := f.js.Stream(f.Context(), contract.StreamChanges)
	if err != nil {
		f.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.Duplicates = 100 * time.Millisecond
	if _, err := f.js.UpdateStream(f.Context(), cfg); err != nil {
		f.Fatal(err)
	}
	f.nats.Stop() // a timer of ten minutes runs already
	f.nats.Start()
	probe := func() error {
		ack, err := f.js.PublishMsg(f.Context(), &nats.Msg{
			Subject: probeSubject, Header: nats.Header{contract.HeaderMsgID: {"probe"}},
		})
		if err == nil && ack.Duplicate {
			return fmt.Errorf("the stream still has the id")
		}
		return err
	}
	expect.Eventually(f, expect.Long, probe)
	expect.Eventually(f, expect.Long, probe)
}

// setStreamAvailable sets whether the messages of the stream can be read.
func (f *fixture) setStreamAvailable(available bool) {
	f.Helper()
	stream, err := f.js.Stream(f.Context(), contract.StreamChanges)
	if err != nil {
		f.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.AllowDirect = available
	if _, err := f.js.UpdateStream(f.Context(), cfg); err != nil {
		f.Fatal(err)
	}
}

// run starts a relay and returns the function that stops it.
func (f *fixture) run() (stop func()) {
	f.Helper()
	r := outbox.New(f.config())
	ctx, cancel := context.WithCancel(f.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.Start(ctx); err != nil {
			f.Error(err)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
