package objectsync

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

func (k *fakeStorage) Release(context.Context, runtime.Object) error {
	k.calls = append(k.calls, "release")
	return k.err
}

// incomplete is a checkpoint that does not show all evictions, or fails.
type incomplete struct {
	fresh
	err error
}

func (c incomplete) Complete(context.Context) (bool, error) { return false, c.err }

// TestReleasedObjectWithoutRow handles an object that only foreign finalizers hold, and that has no row.
func TestReleasedObjectWithoutRow(t *testing.T) {
	const immutable = `"annotations":{"michelangelo/Immutable":"true"},`
	for name, tc := range map[string]struct {
		metadata   string
		evictKind  bool
		checkpoint Checkpoint
		calls      []string
	}{
		"purged":                {"", false, fresh{}, []string{"release"}},
		"purged, marked":        {immutable, false, fresh{}, []string{"release"}},
		"purged, of the kind":   {"", true, fresh{}, []string{"release"}},
		"unprotected":           {"", false, incomplete{}, []string{"release", "finish"}},
		"unprotected, marked":   {immutable, false, incomplete{}, []string{"release", "evict"}},
		"unprotected, the kind": {"", true, incomplete{}, []string{"release", "evict"}},
		"behind":                {"", false, incomplete{err: fmt.Errorf("%w: 1", checkpoint.ErrBehind)}, []string{"evict"}},
		"unreadable":            {immutable, false, incomplete{err: errBroke}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, storage.ErrNotFound)
			s.config.Checkpoint, s.config.EvictImmutableKinds = tc.checkpoint, tc.evictKind
			_, err := s.handle(t, tc.metadata+`"finalizers":["example.com/other"],"deletionTimestamp":"2026-11-22T05:00:00Z",`)
			if complete := tc.checkpoint == (fresh{}); complete && err != nil {
				t.Error(err)
			}
			if !slices.Equal(s.fakeStorage.calls, tc.calls) || len(s.requests) > 0 {
				t.Errorf("got the storage calls %v and the requests %v, want %v", s.fakeStorage.calls, s.requests, tc.calls)
			}
		})
	}
}
