package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// slowLists is a store with a limited number of connections, whose lists respond once they are released.
type slowLists struct {
	*fakeStore
	conns            chan struct{}
	running, highest atomic.Int64
	release          chan struct{}
}

func (s *slowLists) connect(ctx context.Context) error {
	select {
	case s.conns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowLists) GetByName(ctx context.Context, namespace, name string, object runtime.Object) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	defer func() { <-s.conns }()
	return s.fakeStore.GetByName(ctx, namespace, name, object)
}

func (s *slowLists) List(ctx context.Context, _ *metav1.TypeMeta, _ string, _ *metav1.ListOptions, _ *storage.ListOptionsExt, _ *storage.ListResponse) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	defer func() { <-s.conns }()
	for n := s.running.Add(1); ; {
		if highest := s.highest.Load(); n <= highest || s.highest.CompareAndSwap(highest, n) {
			break
		}
	}
	defer s.running.Add(-1)
	select {
	case <-s.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestListsOfOneUserLeaveConnectionsToOthers(t *testing.T) {
	const lists = 12
	store := &slowLists{fakeStore: &fakeStore{object: model(1)}, conns: make(chan struct{}, 2*readsPerUser), release: make(chan struct{})}
	b := newEnv(t, func(c *Config) { c.Store, c.Options.MaxRequests = store, 2*lists })
	var group sync.WaitGroup
	for range lists {
		group.Go(func() {
			if a := b.send(http.MethodGet, objects, ""); a.StatusCode != http.StatusOK {
				t.Errorf("a list got status %d: %s", a.StatusCode, a.body)
			}
		})
	}
	expect.Eventually(t, expect.Long, func() error {
		running, inFlight := store.running.Load(), gauge(t, b.metrics, "flotilla_ingester_api_requests_in_flight")
		if running < readsPerUser || inFlight < lists {
			return fmt.Errorf("%d lists are running and %v requests in flight, want %d and %d", running, inFlight, readsPerUser, lists)
		}
		return nil
	})
	if a := b.send(http.MethodGet, churn, "", "Authorization", "Bearer "+tokenOf+"bob"); a.StatusCode != http.StatusOK {
		t.Errorf("the get of another user got status %d: %s", a.StatusCode, a.body)
	}
	close(store.release)
	group.Wait()
	if n := store.highest.Load(); n != readsPerUser {
		t.Errorf("%d lists of one user ran at the same time, want %d", n, readsPerUser)
	}
}

func TestWaitForSlotEndsWithRequest(t *testing.T) {
	store := &slowLists{fakeStore: &fakeStore{object: model(1)}, conns: make(chan struct{}, 2*readsPerUser), release: make(chan struct{})}
	u := newUserReads(store)
	var group sync.WaitGroup
	for range readsPerUser {
		group.Go(func() {
			if err := u.List(t.Context(), nil, "", nil, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	expect.Eventually(t, expect.Long, func() error {
		if n := store.running.Load(); n < readsPerUser {
			return fmt.Errorf("%d lists are running, want %d", n, readsPerUser)
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := u.GetByName(ctx, "default", "churn", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	close(store.release)
	group.Wait()
}
