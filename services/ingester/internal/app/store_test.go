package app

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// fakeManager keeps the runnables.
type fakeManager struct {
	ctrl.Manager
	added []manager.Runnable
}

func (m *fakeManager) Add(r manager.Runnable) error {
	m.added = append(m.added, r)
	return nil
}

// A manager ends the runnables of all replicas before the controllers, which still write.
func TestStoreIsClosedAfterRunnables(t *testing.T) {
	store, err := mysql.Open(t.Context(), mysql.Options{DSN: "user:secret@tcp(127.0.0.1:1)/michelangelo", Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	closed := func() bool {
		err := store.DB().PingContext(t.Context())
		return err != nil && strings.Contains(err.Error(), "database is closed")
	}
	mgr := &fakeManager{}
	rt := &service.Runtime{Manager: mgr, Log: logr.Discard()}
	if err := addStore(rt, store, &incarnation.Watch{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range mgr.added {
		if err := r.Start(ctx); err != nil {
			t.Error(err)
		}
	}
	if closed() {
		t.Error("the store is closed before the manager has returned")
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !closed() {
		t.Error("the store is not closed at the exit")
	}
}
