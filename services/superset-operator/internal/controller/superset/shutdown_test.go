package superset_test

import (
	"context"
	"testing"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/controller/superset"
)

// canceling ends the context of a reconcile with its first list.
type canceling struct {
	client.Client
	cancel context.CancelFunc
}

func (c canceling) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.cancel()
	return c.Client.List(ctx, list, opts...)
}

// TestTerminatingOperatorReportsNoError ends the operator during a reconcile, as SIGTERM and a lost Lease do.
func TestTerminatingOperatorReportsNoError(t *testing.T) {
	t.Parallel()
	e := start(t, options{idle: true})
	sup := e.create(e.sample("development.yaml"))
	cached := e.manager.GetClient()
	expect.Eventually(t, timeout, func() error { return cached.Get(t.Context(), client.ObjectKeyFromObject(sup), &v1alpha1.Superset{}) })
	ctx, cancel := context.WithCancel(t.Context())
	recorder := events.NewFakeRecorder(10)
	r := superset.New(superset.Config{
		Client: canceling{cached, cancel}, APIReader: e.manager.GetAPIReader(), Reporter: e.reports, Recorder: recorder, Clock: e.clock,
	})
	result, err := r.Reconcile(ctx, request(sup))
	if ctx.Err() == nil || err != nil || result != (ctrl.Result{}) {
		t.Errorf("context %v, result %+v, error %v", ctx.Err(), result, err)
	}
	if o := e.reports.lastOf(sup.Name); o.Object.Name != "" {
		t.Errorf("published %+v", o)
	}
	select {
	case event := <-recorder.Events:
		t.Errorf("event %q", event)
	default:
	}
}
