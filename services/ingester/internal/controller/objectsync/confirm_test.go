package objectsync

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

func (k *fakeStorage) Evict(context.Context, runtime.Object) error {
	k.calls = append(k.calls, "evict")
	if k.closed {
		return storage.ErrUnconfirmed
	}
	return k.err
}

func (k *fakeStorage) Reopen(context.Context, runtime.Object) error {
	k.calls = append(k.calls, "reopen")
	k.closed = false
	return nil
}

// TestClosedRowIsOpenedIfObjectExists reads an object from the cache whose row is closed. The row is opened if the
// API server has the same object, and the deletion of that was not requested.
func TestClosedRowIsOpenedIfObjectExists(t *testing.T) {
	const terminating = finalizersField + `"deletionTimestamp":"2026-11-22T05:00:00Z",`
	const immutable = finalizersField + `"annotations":{"michelangelo/Immutable":"true"},`
	for name, tc := range map[string]struct {
		cached, live    string
		calls, requests []string
	}{
		"it exists":         {finalizersField, text(finalizersField), []string{"upsert", "reopen"}, []string{"GET"}},
		"it does not exist": {finalizersField, "", []string{"upsert", "finish"}, []string{"GET"}},
		"another object has its name": {
			finalizersField, strings.Replace(text(finalizersField), "u1", "u2", 1), []string{"upsert", "finish"}, []string{"GET"},
		},
		"it is Terminating": {finalizersField, text(terminating), []string{"upsert", "finish"}, []string{"GET", "PATCH"}},
		"it is adopted": {
			"", text(finalizersField), []string{"upsert", "reopen"}, []string{"PATCH", "GET"},
		},
		"it is immutable":            {immutable, text(immutable), []string{"evict", "reopen"}, []string{"GET"}},
		"its annotation was removed": {immutable, text(finalizersField), []string{"evict", "reopen"}, []string{"GET"}},
		"it was evicted":             {immutable, "", []string{"evict", "finish"}, []string{"GET"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, nil)
			s.fakeStorage.closed, s.live = true, tc.live
			result, err := s.handle(t, tc.cached)
			if err != nil {
				t.Fatal(err)
			}
			if again := tc.live == text(immutable); again != (result.RequeueAfter == steps.RequeueStale) {
				t.Errorf("requeued after %s", result.RequeueAfter)
			}
			if !slices.Equal(s.fakeStorage.calls, tc.calls) || !slices.Equal(s.requests, tc.requests) {
				t.Errorf("got the storage calls %v and the requests %v, want %v and %v", s.fakeStorage.calls, s.requests, tc.calls, tc.requests)
			}
		})
	}
}
