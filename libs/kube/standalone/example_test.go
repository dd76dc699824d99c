package standalone_test

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
)

// Example wires a controller that reports its objects to the bus and, while no
// aggregator is alive, writes their conditions itself.
func Example() { //nolint:testableexamples // It needs a manager and a control plane.
	setUp := func(mgr ctrl.Manager, observations *bus.ObservationPublisher) error {
		watcher, err := standalone.NewLeaseWatcher(mgr, "flotilla-system")
		if err != nil {
			return err
		}
		reporter := standalone.NewReporter(mgr.GetClient(), watcher, observations, contract.Superset, clock.RealClock{})
		return ctrl.NewControllerManagedBy(mgr).
			For(&apitest.Ship{}).
			WatchesRawSource(watcher.Source(&apitest.ShipList{})).
			Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
				var ship apitest.Ship
				if err := mgr.GetClient().Get(ctx, req.NamespacedName, &ship); err != nil {
					return ctrl.Result{}, err
				}
				requeueAfter, err := reporter.Report(ctx, &ship, contract.Observation{ /* the state that the operator observes */ })
				if err != nil {
					return ctrl.Result{}, err
				}
				return ctrl.Result{RequeueAfter: requeueAfter}, nil
			}))
	}
	_ = setUp
}
