package observe

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A deletion that the watch missed is reported like any other, but without a last state: the
// last observed state may lack later changes.
func TestFollowerReportsDeletion(t *testing.T) {
	cases := map[string]struct {
		event any
		final bool
	}{
		"seen":               {fullObject(), true},
		"missed by a gap":    {toolscache.DeletedFinalStateUnknown{Key: "team-a/main", Obj: fullObject()}, false},
		"nothing is known":   {toolscache.DeletedFinalStateUnknown{Key: "team-a/main"}, false},
		"not even an object": {"team-a/main", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var notified []contract.Ref
			w := New(Config{
				Cluster: "prod", Clock: clocktesting.NewFakeClock(start),
				OnObject: func(r contract.Ref) { notified = append(notified, r) },
			})
			f := &follower{watcher: w, kind: kind(t)}
			f.ended(tc.event)
			ref := contract.Ref{Cluster: "prod", Namespace: "team-a", Kind: contract.Superset, Name: "main"}
			want := []contract.Ref{ref}
			if _, known := metaObject(tc.event); !known {
				want = nil
			}
			if diff := cmp.Diff(want, notified); diff != "" {
				t.Errorf("announced (-want +got):\n%s", diff)
			}
			last, seen := w.Last(kind(t), ref, "u")
			if seen != tc.final {
				t.Errorf("last state is kept: %v, want %v", seen, tc.final)
			}
			if seen && (last.GetManagedFields() != nil || fullObject().GetManagedFields() == nil) {
				t.Error("the last state is kept with the managed fields, which a standby never drops")
			}
		})
	}
}

// A standby never reads the last states, nor does a new leader read those of deletions that its predecessor published.
func TestLastStateExpires(t *testing.T) {
	clk, publishing := clocktesting.NewFakeClock(start), true
	w := New(Config{
		Cluster: "prod", Clock: clk, Publishing: func() bool { return publishing }, OnObject: func(contract.Ref) {},
	})
	f := &follower{watcher: w, kind: kind(t)}
	f.ended(fullObject())
	for _, step := range []struct {
		after      time.Duration
		publishing bool
		kept       bool
	}{
		{after: lastStateTTL - time.Second, publishing: true, kept: true},
		{after: time.Hour, publishing: false, kept: true}, // no leader can publish the deletion
		{after: lastStateTTL - time.Second, publishing: true, kept: true},
		{after: time.Second, publishing: true, kept: false},
	} {
		clk.Step(step.after)
		publishing = step.publishing
		w.expire()
		if kept := len(w.deleted) == 1; kept != step.kept {
			t.Fatalf("at %s the last state is kept: %v, want %v", clk.Now(), kept, step.kept)
		}
	}
}

// More deletions than the limit lose only as many last states.
func TestLastStatesAreBounded(t *testing.T) {
	w := New(Config{Cluster: "prod", Clock: clocktesting.NewFakeClock(start)})
	refOf := func(n int) contract.Ref {
		return contract.Ref{Cluster: "prod", Kind: contract.Superset, Name: strconv.Itoa(n)}
	}
	for n := range maxDeleted {
		w.keepDeleted(refOf(n), fullObject())
	}
	w.keepDeleted(refOf(0), fullObject())
	if n := len(w.deleted); n != maxDeleted {
		t.Errorf("%d last states after a repeated deletion, want %d", n, maxDeleted)
	}
	w.keepDeleted(refOf(maxDeleted), fullObject())
	_, kept := w.deleted[refOf(maxDeleted)]
	if n := len(w.deleted); n != maxDeleted || !kept {
		t.Errorf("%d last states, want %d; that of the last deletion is kept: %v", n, maxDeleted, kept)
	}
}

// unlistableClient is a cache that cannot list objects.
type unlistableClient struct {
	cache.Cache
	removed int
}

func (*unlistableClient) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("unavailable")
}

func (c *unlistableClient) RemoveInformer(context.Context, client.Object) error {
	c.removed++
	return nil
}

func TestRemovedKindHasNoInformer(t *testing.T) {
	kinds, err := registry.Managed()
	if err != nil {
		t.Fatal(err)
	}
	c := &unlistableClient{}
	w := New(Config{Cluster: "prod", Cache: c, Kinds: kinds, OnObject: func(contract.Ref) {}})
	f := &follower{watcher: w, kind: kind(t)}
	w.setFollowed(f.kind.Token, true)
	if err := f.stop(t.Context()); err == nil || c.removed != 1 {
		t.Errorf("got %v and %d removed informers, want the error of the list and 1", err, c.removed)
	}
}
