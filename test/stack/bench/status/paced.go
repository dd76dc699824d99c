package status

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

// rates are the changes per second that paced makes, and pacedFor is the time for which it makes them.
var rates = []int{25, 50, 100, 500}

const pacedFor = 10 * time.Second

// paced makes resources unavailable at several rates, and reports the time from the publication of an observation to the event of
// a watch with the condition. Each change requires a write of the API server, so the highest rates show its limit.
func paced(ctx context.Context, e *benchenv.Env, o *observer, f *benchenv.Figures) error {
	for _, rate := range rates {
		n := min(rate*int(pacedFor/time.Second), len(o.objects))
		samples, seconds, err := o.changeAt(ctx, e, rate, n)
		if err != nil {
			return fmt.Errorf("%d changes per second: %w", rate, err)
		}
		name := fmt.Sprintf("paced%d.", rate)
		f.Report(name+"p50_ms", benchenv.Percentile(samples, 0.50), "ms")
		f.Report(name+"p99_ms", benchenv.Percentile(samples, 0.99), "ms")
		f.Report(name+"conditions_per_s", float64(n)/seconds, "conditions/s")
	}
	return nil
}

// changeAt makes the first n resources unavailable and returns the time that each condition took, and the seconds until the
// last one. Then it makes all resources available again.
func (o *observer) changeAt(ctx context.Context, e *benchenv.Env, rate, n int) (samples []time.Duration, seconds float64, err error) {
	watching, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newStopwatch()
	if err := w.watchConditions(watching, e.Client, cancel); err != nil {
		return nil, 0, err
	}
	if err := await.Nil(watching, time.Minute, 10*time.Millisecond, func(context.Context) error { return w.known(len(o.objects)) }); err != nil {
		return nil, 0, err
	}
	start := time.Now()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for _, object := range o.objects[:n] {
		w.note(w.causes, object.Name, true)
		w.note(w.causes, object.Name, false)
		o.observations.Publish(contract.Superset, observation(object, 0))
		<-tick.C
	}
	if err := await.Nil(watching, 5*time.Minute, 10*time.Millisecond, func(context.Context) error { return w.seen(n, 1) }); err != nil {
		return nil, 0, err
	}
	seconds = time.Since(start).Seconds()
	o.publishAll()
	var changed []client.Object
	for _, object := range o.objects[:n] {
		changed = append(changed, benchenv.Object(supersetGroup, object.Kind, object.Namespace, object.Name, nil))
	}
	return w.samples(), seconds, e.Await(ctx, changed, isAvailable)
}
