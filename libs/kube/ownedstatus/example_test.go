package ownedstatus_test

import (
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
)

// Example is the end of a reconcile: one write of everything that the operator owns.
func Example() { //nolint:testableexamples // It needs a control plane.
	writeStatus := func(ctx context.Context, c client.Client, ship *apitest.Ship) (ctrl.Result, error) {
		w := ownedstatus.New(c, "example-operator")
		_, err := w.Apply(ctx, ship, apitest.ShipStatus{Phase: "Running"})
		if errors.Is(err, ownedstatus.ErrStale) {
			return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil // decide again from the updated cache
		}
		return ctrl.Result{}, err
	}
	_ = writeStatus
}
