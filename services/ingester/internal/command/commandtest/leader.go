package commandtest

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/testkit/leadertest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
)

// Lead makes pod-1 the leader, with a Lease of one second. The clock of pod-1 is ahead of this one. In the returned
// environment pod-1 renews the Lease before each read; in b, it has crashed.
func (b *Env) Lead(ahead time.Duration) command.Env {
	b.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: command.LeaseName}}
	_, err := controllerutil.CreateOrUpdate(b.Context(), b.Client, lease, func() error {
		lease.Spec = coordinationv1.LeaseSpec{
			HolderIdentity: new("pod-1"), LeaseDurationSeconds: new(int32(1)), RenewTime: new(metav1.NewMicroTime(b.Clock.Now().Add(ahead))),
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	env := b.Env
	env.Client = leadertest.Renewing(b.Client, lease)
	return env
}
