// Package leadertest simulates the leader of a service, for tests of commands that must not run at the same time.
package leadertest

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Renewing returns a client while a leader runs: it renews the existing Lease before each read of one.
func Renewing(c client.Client, lease *coordinationv1.Lease) client.Client {
	return &renewing{Client: c, lease: lease}
}

type renewing struct {
	client.Client
	lease *coordinationv1.Lease
}

func (c *renewing) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(*coordinationv1.Lease); ok {
		c.lease.Spec.RenewTime = new(metav1.NewMicroTime(c.lease.Spec.RenewTime.Add(time.Second)))
		if err := c.Update(ctx, c.lease); err != nil {
			return err
		}
	}
	return c.Client.Get(ctx, key, o, options...)
}
