package standalone

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/coalesce"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
)

// Reporter publishes observations and, while [LeaseWatcher.ShouldWrite] is true, writes
// the conditions that follow from them. It is safe for concurrent use.
type Reporter struct {
	writer       *ownedstatus.Writer
	lease        *LeaseWatcher
	observations *bus.ObservationPublisher
	kind         contract.Kind
	clock        clock.PassiveClock
	details      *coalesce.Details[types.UID]

	mu     sync.Mutex
	states map[types.UID]conditions.State
}

// NewReporter returns a Reporter for one kind. observations may be nil: no bus.
// A Superset gets the summary Ready too, since its operator writes none.
func NewReporter(c client.Client, lease *LeaseWatcher, observations *bus.ObservationPublisher, kind contract.Kind, clk clock.PassiveClock) *Reporter {
	return &Reporter{
		writer: ownedstatus.New(c, conditions.FieldManager), lease: lease, observations: observations,
		kind: kind, clock: clk, details: coalesce.New[types.UID](clk), states: map[types.UID]conditions.State{},
	}
}

// Report offers o to the bus and, while this process must write, applies the
// conditions to cr. It returns the time after which the conditions may change without
// a change of the object; zero means never. A change of details only, with all statuses
// and observed generations the same, is written no sooner than [coalesce.Interval] after the last write.
//
// cr is the typed object as read from the cache, after the operator's own status write if
// it made one; after a write it carries the new resourceVersion. The error is
// [ownedstatus.ErrStale] when the object changed meanwhile: reconcile again.
func (r *Reporter) Report(ctx context.Context, cr client.Object, o contract.Observation) (requeueAfter time.Duration, err error) {
	r.observations.PublishContext(ctx, r.kind, o)
	if !r.lease.ShouldWrite() {
		r.Forget(cr.GetUID()) // from now on the aggregator keeps the state
		return 0, nil
	}
	previous, err := conditionsOf(cr)
	if err != nil {
		return 0, fmt.Errorf("report %s %s: %w", r.kind, client.ObjectKeyFromObject(cr), err)
	}
	now := r.clock.Now()
	result := conditions.Compute(conditions.Input{
		Observation: &o,
		Generation:  cr.GetGeneration(),
		Deleting:    cr.GetDeletionTimestamp() != nil,
		Freshness:   conditions.Fresh,
		Now:         now,
		Previous:    previous,
		Memory:      r.loadState(cr.GetUID()),
		WithReady:   conditions.WithReady(r.kind),
	})
	r.recordState(cr.GetUID(), result.Memory)
	if !result.Next.IsZero() {
		requeueAfter = max(result.Next.Sub(now), time.Millisecond)
	}
	if conditions.OnlyDetailsDiffer(previous, result.Conditions) {
		if wait := r.details.Wait(cr.GetUID()); wait > 0 {
			return steps.MinRequeue(requeueAfter, wait), nil
		}
	}
	changed, err := r.writer.ApplyConditions(ctx, cr, result.Conditions)
	if err != nil {
		return 0, fmt.Errorf("report %s %s: %w", r.kind, client.ObjectKeyFromObject(cr), err)
	}
	if changed {
		r.details.Written(cr.GetUID())
	}
	return requeueAfter, nil
}

// Delete publishes that the object no longer exists and drops its remembered state.
func (r *Reporter) Delete(object contract.Object) {
	r.observations.Delete(r.kind, object)
	r.Forget(types.UID(object.UID))
}

// Forget drops the remembered state of an object that no longer exists.
func (r *Reporter) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, uid)
	r.details.Forget(uid)
}

func (r *Reporter) loadState(uid types.UID) conditions.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states[uid]
}

func (r *Reporter) recordState(uid types.UID, m conditions.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[uid] = m
}

// conditionsOf returns status.conditions of a typed object.
func conditionsOf(obj client.Object) ([]metav1.Condition, error) {
	if status := reflect.ValueOf(obj).Elem().FieldByName("Status"); status.IsValid() {
		if field := status.FieldByName("Conditions"); field.IsValid() {
			if list, ok := reflect.TypeAssert[[]metav1.Condition](field); ok {
				return list, nil
			}
		}
	}
	return nil, fmt.Errorf("%T has no status.conditions", obj)
}
