package httpapi

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/kube/access"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// readsPerUser is half of the connections that storage has for reads.
const readsPerUser = 4

// userReads is a Store with at most readsPerUser concurrent reads of one user, so that the slow lists of one user do not
// block those of the others. Further reads wait until their requests end.
type userReads struct {
	Store

	mu     sync.Mutex
	byUser map[string]*readSlots
}

// readSlots are those of one user.
type readSlots struct {
	running chan struct{}
	// pending counts the reads that run or wait.
	pending int
}

func newUserReads(store Store) *userReads {
	return &userReads{Store: store, byUser: map[string]*readSlots{}}
}

// GetByName implements Store.
func (u *userReads) GetByName(ctx context.Context, namespace, name string, object runtime.Object) error {
	release, err := u.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return u.Store.GetByName(ctx, namespace, name, object)
}

// List implements Store.
func (u *userReads) List(
	ctx context.Context, typeMeta *metav1.TypeMeta, namespace string, listOptions *metav1.ListOptions, ext *storage.ListOptionsExt,
	response *storage.ListResponse,
) error {
	release, err := u.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return u.Store.List(ctx, typeMeta, namespace, listOptions, ext, response)
}

// acquire waits for a slot of the user of ctx.
func (u *userReads) acquire(ctx context.Context) (release func(), err error) {
	user := userOf(ctx)
	slots := u.enter(user)
	select {
	case slots.running <- struct{}{}:
		return func() {
			<-slots.running
			u.leave(user, slots)
		}, nil
	case <-ctx.Done():
		u.leave(user, slots)
		return nil, fmt.Errorf("wait for the other reads of the user in storage: %w", ctx.Err())
	}
}

func (u *userReads) enter(user string) *readSlots {
	u.mu.Lock()
	defer u.mu.Unlock()
	slots, ok := u.byUser[user]
	if !ok {
		slots = &readSlots{running: make(chan struct{}, readsPerUser)}
		u.byUser[user] = slots
	}
	slots.pending++
	return slots
}

func (u *userReads) leave(user string, slots *readSlots) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if slots.pending--; slots.pending == 0 {
		delete(u.byUser, user)
	}
}

// userOf returns the name of the authenticated user.
func userOf(ctx context.Context) string {
	u, ok := access.UserFrom(ctx)
	if !ok {
		return ""
	}
	return u.GetName()
}
