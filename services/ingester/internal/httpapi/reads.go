package httpapi

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// readsPerUser is half of the connections that storage has for reads.
const readsPerUser = 4

// userReads is a Store with at most readsPerUser concurrent reads of one user, so that the slow lists of one user do not
// block those of the others. Further reads wait until their requests end.
type userReads struct {
	Store

	slots *httpserver.UserSlots
}

func newUserReads(store Store) *userReads {
	return &userReads{Store: store, slots: httpserver.NewUserSlots(readsPerUser)}
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
	if err := u.slots.Acquire(ctx, user); err != nil {
		return nil, fmt.Errorf("wait for the other reads of the user in storage: %w", err)
	}
	return func() { u.slots.Release(user) }, nil
}

// userOf returns the name of the authenticated user.
func userOf(ctx context.Context) string {
	u, ok := access.UserFrom(ctx)
	if !ok {
		return ""
	}
	return u.GetName()
}
