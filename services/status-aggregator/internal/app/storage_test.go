package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// NATS that is restored from an old backup loses history, which is reported, but no state.
func TestBusRestoredFromBackup(t *testing.T) {
	t.Parallel()
	var store string
	f := newFixture(t, func(o *natstest.Options) { store = o.StoreDir })
	backup := filepath.Join(t.TempDir(), "backup")
	f.start()
	o, u, flips := f.available()
	f.wantHistory("main snapshot")

	f.stopNATS()
	if err := os.CopyFS(backup, os.DirFS(store)); err != nil {
		t.Fatal(err)
	}
	f.startNATS()
	o.observe(u, 1)
	f.condition(u, conditions.TypeAvailable, "False", conditions.ReasonInsufficientReplicas)
	f.wantHistory("main snapshot", "main unavailable Available=False", "main progressing Progressing=True",
		"main notupgradable Upgradable=False")

	f.stopNATS()
	if err := os.RemoveAll(store); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(store, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	f.startNATS()
	f.wantHistory("main snapshot", "main snapshot gap")
	if e := f.entry(contract.Superset, u); e.Conditions[0].Status != "False" {
		t.Errorf("the entry has %+v, want the conditions of the object", e.Conditions[0])
	}
	o.observe(u, 2)
	flips.want(t, conditions.TypeAvailable, "True", "False", "True")
	flips.want(t, conditions.TypeDegraded, "False")
}

// A missing permission is distinguished from an outage, and the aggregator releases the Lease: the
// operators write instead.
func TestMissingBucketPermissionEndsLeadership(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *natstest.Options) {
		all := &natstest.Permissions{Publish: &natstest.SubjectPermission{Allow: []string{">"}}}
		o.NoAuthUser = "anybody"
		o.Users = []*natstest.User{
			{Username: "anybody", Permissions: all},
			{Username: Name, Password: "x", Permissions: &natstest.Permissions{
				Publish: &natstest.SubjectPermission{Deny: []string{"$KV.>"}},
			}},
		}
	})
	f.urls[Name] = strings.Replace(f.nats.URL(), "//", "//"+Name+":x@", 1)
	r := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	u := f.superset("main")
	o.observe(u, 2)
	expect.Eventually(t, expect.Long, func() error {
		if n := r.metric(t, "flotilla_status_publish_results_total", map[string]string{"store": "kv", "outcome": "denied"}); n == 0 {
			return fmt.Errorf("no write was counted as denied")
		}
		return nil
	})
	r.waitForLease(t, 0)
	if present, err := expect.Conditions(u); err != nil || len(present) != 0 {
		t.Errorf("conditions were written: %v, %v", present, err)
	}
}

// The deletion of a consumer is detected, and no message is missed.
func TestDeletedConsumersAreRecreated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	o, u, flips := f.available()
	for _, stream := range []string{contract.StreamObservations, contract.StreamHeartbeats} {
		for _, name := range f.consumers(stream) {
			if err := f.conn.JetStream().DeleteConsumer(t.Context(), stream, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	o.observe(u, 1)
	flips.want(t, conditions.TypeAvailable, "True", "False")
	for _, stream := range []string{contract.StreamObservations, contract.StreamHeartbeats} {
		expect.Eventually(t, expect.Long, func() error {
			if n := len(f.consumers(stream)); n != 1 {
				return fmt.Errorf("%d consumers on %s", n, stream)
			}
			return nil
		})
	}
}

// stopNATS stops the server. It returns when the test's connection and the others have noticed, so that they are connected
// again only to the next server.
func (f *fixture) stopNATS(others ...*bus.Conn) {
	f.t.Helper()
	f.nats.Stop()
	f.waitForConnected(false, others...)
}

// startNATS starts the server and waits for the test's connection and the others.
func (f *fixture) startNATS(others ...*bus.Conn) {
	f.t.Helper()
	f.nats.Start()
	f.waitForConnected(true, others...)
}

func (f *fixture) waitForConnected(want bool, others ...*bus.Conn) {
	f.t.Helper()
	expect.Eventually(f.t, expect.Long, func() error {
		for i, conn := range append([]*bus.Conn{f.conn}, others...) {
			if conn.Connected() != want {
				return fmt.Errorf("connection %d: connected %v, want %v", i, !want, want)
			}
		}
		return nil
	})
}

func (f *fixture) consumers(stream string) []string {
	f.t.Helper()
	s, err := f.conn.JetStream().Stream(f.t.Context(), stream)
	if err != nil {
		f.t.Fatal(err)
	}
	list := s.ConsumerNames(f.t.Context())
	var names []string
	for n := range list.Name() {
		names = append(names, n)
	}
	if err := list.Err(); err != nil {
		f.t.Fatal(err)
	}
	return names
}
