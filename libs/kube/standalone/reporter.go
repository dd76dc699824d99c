package standalone

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Reporter publishes observations and, while the [Gate] says so, writes the conditions that follow from them.
type Reporter struct{}

// ReporterOption changes a [Reporter].
type ReporterOption func(*Reporter)

// NewReporter returns a Reporter for one kind. observations may be nil: no bus.
func NewReporter(c client.Client, gate *Gate, observations *bus.Observations, kind contract.Kind, clk clock.PassiveClock, opts ...ReporterOption) *Reporter {
	return &Reporter{}
}

// Report offers o to the bus and, while this process must write, applies the
// conditions to cr. The answer is after how long the conditions may change by the
// mere passing of time; zero means never. cr is the object as read from the cache
// (after the operator's own status write, if it made one); on a write it carries
// the new resourceVersion afterwards.
func (r *Reporter) Report(ctx context.Context, cr client.Object, o contract.Observation) (requeueAfter time.Duration, err error) {
	return 0, errors.ErrUnsupported
}

// Gone publishes that the object no longer exists and drops what is remembered of it.
func (r *Reporter) Gone(object contract.Object) {}

// Forget drops what is remembered of an object that no longer exists.
func (r *Reporter) Forget(uid types.UID) {}
