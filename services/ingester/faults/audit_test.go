package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/jmoiron/sqlx"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/verify"
)

// audit adds triggers that record each change of a row.
func (s *env) audit() {
	s.Helper()
	statements := []string{"CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, uid VARCHAR(64) NOT NULL, res BIGINT NOT NULL," +
		" closed BOOL NOT NULL, evicted BOOL NOT NULL, existed BOOL NOT NULL, wasclosed BOOL NOT NULL, at DATETIME(6) NOT NULL)"}
	const insertAudit = "INSERT INTO audit (uid, res, closed, evicted, existed, wasclosed, at) SELECT NEW.uid, NEW.res_version," +
		" NEW.delete_time IS NOT NULL, NEW.evict_time IS NOT NULL, "
	for _, kind := range kinds {
		table := strings.ToLower(kind)
		statements = append(statements,
			"CREATE TRIGGER "+table+"_inserted AFTER INSERT ON "+table+" FOR EACH ROW "+insertAudit+"FALSE, FALSE, NEW.update_time FROM DUAL",
			"CREATE TRIGGER "+table+"_updated AFTER UPDATE ON "+table+" FOR EACH ROW "+insertAudit+"TRUE, OLD.delete_time IS NOT NULL, NEW.update_time FROM DUAL"+
				" WHERE NOT (NEW.res_version = OLD.res_version AND NEW.incarnation = OLD.incarnation"+
				" AND NEW.delete_time <=> OLD.delete_time AND NEW.evict_time <=> OLD.evict_time)"+
				// The final state of an evicted object is stored, without a second eviction event.
				" AND NOT (NEW.incarnation = OLD.incarnation AND NEW.delete_time IS NULL AND OLD.delete_time IS NULL"+
				" AND NEW.evict_time IS NOT NULL AND OLD.evict_time IS NOT NULL)")
	}
	for _, statement := range statements {
		if _, err := s.db.ExecContext(s.Context(), statement); err != nil {
			s.Fatalf("%s: %v", statement, err)
		}
	}
}

// change is one recorded change of a row.
type change struct {
	UID                                 string
	Res                                 int64
	Closed, Evicted, Existed, WasClosed bool
	At                                  time.Time
}

func (c change) operation() contract.ChangeOperation {
	switch {
	case c.Closed:
		return contract.ChangeDeleted
	case c.Evicted:
		return contract.ChangeEvicted
	case !c.Existed:
		return contract.ChangeCreated
	case c.WasClosed:
		return contract.ChangeRestored
	default:
		return contract.ChangeUpdated
	}
}

// committed returns the changes of each object, as "<version> <operation>". A row that was written and closed in one
// transaction changed once.
func (s *env) committed() map[string][]string {
	s.Helper()
	var lines []change
	if err := sqlx.NewDb(s.db, "mysql").SelectContext(s.Context(), &lines,
		"SELECT uid, res, closed, evicted, existed, wasclosed, at FROM audit ORDER BY id"); err != nil {
		s.Fatal(err)
	}
	out := map[string][]string{}
	last := map[string]change{}
	for _, c := range lines {
		previous, known := last[c.UID]
		last[c.UID] = c
		if known && previous.At.Equal(c.At) {
			out[c.UID] = out[c.UID][:len(out[c.UID])-1]
		}
		out[c.UID] = append(out[c.UID], fmt.Sprintf("%d %s", c.Res, c.operation()))
	}
	return out
}

// published returns the events of each object in the stream, in the same form.
func (s *env) published() (map[string][]string, error) {
	stream, err := s.conn.JetStream().Stream(s.Context(), contract.StreamChanges)
	if err != nil {
		return nil, err
	}
	state := stream.CachedInfo().State
	out := map[string][]string{}
	ids := map[string]int64{}
	for seq := state.FirstSeq; seq <= state.LastSeq && state.Msgs > 0; seq++ {
		var msg *jetstream.RawStreamMsg
		if msg, err = stream.GetMsg(s.Context(), seq); err != nil {
			return nil, err
		}
		_, event, err := contract.Decode[contract.Change](msg.Data)
		if err != nil {
			return nil, err
		}
		o := event.Object
		name := o.Kind + "/" + o.Name
		if event.OutboxID <= ids[name] {
			return nil, fmt.Errorf("event %d of %s after %d", event.OutboxID, name, ids[name])
		}
		ids[name] = event.OutboxID
		out[o.UID] = append(out[o.UID], fmt.Sprintf("%s %s", o.ResourceVersion, event.Operation))
	}
	return out, nil
}

// recovery is the maximum time until cluster, MySQL and stream agree again.
const recovery = 4 * expect.Long

// agree waits until the cluster, MySQL and the stream have the same state.
func (s *env) agree() {
	s.Helper()
	expect.Eventually(s, recovery, func() error {
		if err := s.noneTerminating(); err != nil {
			return err
		}
		return s.compare(false)
	})
	expect.Eventually(s, recovery, func() error { return s.compare(true) })
	expect.Eventually(s, recovery, func() error {
		var waiting int
		if err := s.db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM outbox").Scan(&waiting); err != nil || waiting > 0 {
			return fmt.Errorf("%d events wait: %w", waiting, err)
		}
		return nil
	})
	expect.Eventually(s, expect.Long, func() error { // the ingester may have reconnected first
		if !s.conn.Connected() {
			return errors.New("the test is not connected to NATS")
		}
		return nil
	})
	want := s.committed()
	got, err := s.published()
	if err != nil {
		s.Fatal(err)
	}
	mismatches, events := 0, 0
	for uid, changes := range want {
		events += len(changes)
		if !slices.Equal(changes, got[uid]) {
			if mismatches++; mismatches <= 5 {
				s.Errorf("changes of %s:\n%q\nevents:\n%q", uid, changes, got[uid])
			}
		}
	}
	if len(got) != len(want) || mismatches > 0 {
		s.Errorf("%d objects have changes, %d have events, %d differ", len(want), len(got), mismatches)
	}
	s.Logf("%d objects, %d changes, each with its event", len(want), events)
}

// compare compares like `ingester verify`.
func (s *env) compare(deep bool) error {
	known, err := registry.Load()
	if err != nil {
		return err
	}
	report, err := verify.Compare(s.Context(), verify.Env{
		Client: s.client, DB: s.db, Kinds: known, Clock: clock.RealClock{}, Log: logr.Discard(),
	}, verify.Options{Scope: command.Scope{Namespaces: []string{s.namespace}}, Deep: deep})
	if err != nil {
		return err
	}
	if n := len(report.Differences); n > 0 {
		return fmt.Errorf("%d differences, for example %s", n, report.Differences[0])
	}
	return nil
}

func (s *env) noneTerminating() error {
	for _, kind := range kinds {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(schema.FromAPIVersionAndKind(api.GroupVersion, kind+"List"))
		if err := s.client.List(s.Context(), &list, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		for _, o := range list.Items {
			if o.DeletionTimestamp != nil {
				return fmt.Errorf("%s %s is Terminating", kind, o.Name)
			}
			if api.IsSet(o.Annotations, api.DeletingAnnotation) || api.IsSet(o.Annotations, api.ImmutableAnnotation) {
				return fmt.Errorf("%s %s has %v and is there", kind, o.Name, o.Annotations)
			}
		}
	}
	return nil
}
