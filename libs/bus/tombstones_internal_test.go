package bus

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// While no server is available, nothing acknowledges tombstones.
func TestUnpublishedTombstonesExpire(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	conn, err := Connect(Config{URL: "nats://127.0.0.1:1", Name: "tester", Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p := NewPublisher(conn)
	o := NewObservationPublisher(p, "prod", contract.Observer{Name: "tester"}, func() int64 { return 1 })
	gvk, _ := contract.Lookup(contract.Superset)
	object := func(name string) contract.Object {
		return contract.Object{GroupVersionKind: gvk, Namespace: "ns", Name: name, UID: "uid-" + name}
	}
	subject := func(name string) string {
		s, err := contract.ObservationSubject(contract.Ref{Cluster: "prod", Namespace: "ns", Kind: contract.Superset, Name: name}, "tester")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}

	o.Publish(contract.Superset, contract.Observation{Object: object("present")})
	o.Delete(contract.Superset, object("old"))
	o.Delete(contract.Superset, object("recreated"))
	o.Delete(contract.Superset, object("sending"))
	p.entries[subject("sending")].sending = true
	clk.Step(TombstoneTTL)
	o.Publish(contract.Superset, contract.Observation{Object: object("recreated")})
	o.Delete(contract.Superset, object("new"))

	want := []string{subject("new"), subject("present"), subject("recreated"), subject("sending")}
	for name, got := range map[string][]string{
		"objects": slices.Sorted(maps.Keys(o.objects)), "messages": slices.Sorted(maps.Keys(p.entries)),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(p.ready) != len(want) {
		t.Errorf("%d messages are queued, want %d", len(p.ready), len(want))
	}
}
