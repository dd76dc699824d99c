package leader_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/leader"
)

var (
	key      = types.NamespacedName{Namespace: "flotilla-system", Name: "ingester.flotilla.dev"}
	notFound = apierrors.NewNotFound(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, key.Name)
)

// reader reads a Lease whose state depends on the time since the first read.
type reader struct {
	client.Reader
	start time.Time
	at    func(elapsed time.Duration) (coordinationv1.LeaseSpec, error)
}

func (r *reader) Get(_ context.Context, got client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if got != key {
		return errors.New("another key")
	}
	if r.start.IsZero() {
		r.start = time.Now()
	}
	spec, err := r.at(time.Since(r.start))
	o.(*coordinationv1.Lease).Spec = spec
	return err
}

// lease returns the Lease of a leader that renewed it at a time, with a duration of 15 s.
func lease(holder string, renewed time.Time) coordinationv1.LeaseSpec {
	return coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(renewed)), LeaseTransitions: new(int32(1)),
	}
}

func TestFind(t *testing.T) {
	failed := errors.New("connection refused")
	// The clock in a bubble of synctest starts at this time.
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	past, future := now.Add(-10*time.Minute), now.Add(10*time.Minute)
	// after returns a Lease of pod-a that is not renewed until a time, and its state from then on.
	after := func(change time.Duration, spec coordinationv1.LeaseSpec, err error) func(time.Duration) (coordinationv1.LeaseSpec, error) {
		return func(elapsed time.Duration) (coordinationv1.LeaseSpec, error) {
			if elapsed < change {
				return lease("pod-a", past), nil
			}
			return spec, err
		}
	}
	elected := lease("pod-a", past)
	elected.LeaseTransitions = new(int32(2))
	incomplete := coordinationv1.LeaseSpec{HolderIdentity: new("pod-a")}
	tests := map[string]struct {
		at   func(elapsed time.Duration) (coordinationv1.LeaseSpec, error)
		want string
		err  error
		took time.Duration
	}{
		"no Lease":                          {after(0, coordinationv1.LeaseSpec{}, notFound), "", nil, 0},
		"a released Lease":                  {after(0, lease("", now), nil), "", nil, 0},
		"a Lease without a holder identity": {after(0, coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(now))}, nil), "", nil, 0},
		"a leader whose clock is behind": {func(elapsed time.Duration) (coordinationv1.LeaseSpec, error) {
			return lease("pod-a", now.Add(-time.Minute).Add(elapsed.Truncate(2*time.Second))), nil
		}, "pod-a", nil, 2 * time.Second},
		"a leader whose clock was set back":     {after(3*time.Second, lease("pod-a", past.Add(-time.Hour)), nil), "pod-a", nil, 3 * time.Second},
		"a renewal at the end of the duration":  {after(15*time.Second, lease("pod-a", now), nil), "pod-a", nil, 15 * time.Second},
		"a dead leader":                         {after(time.Hour, lease("pod-a", now), nil), "", nil, 15 * time.Second},
		"a dead leader whose clock was ahead":   {after(0, lease("pod-a", future), nil), "", nil, 15 * time.Second},
		"a new leader":                          {after(5*time.Second, lease("pod-b", past), nil), "pod-b", nil, 5 * time.Second},
		"a leader that was elected again":       {after(5*time.Second, elected, nil), "pod-a", nil, 5 * time.Second},
		"a leader that releases its Lease":      {after(4*time.Second, lease("", now), nil), "", nil, 4 * time.Second},
		"a Lease that is deleted":               {after(4*time.Second, coordinationv1.LeaseSpec{}, notFound), "", nil, 4 * time.Second},
		"a Lease without a duration or renewal": {after(0, incomplete, nil), "", nil, time.Second},
		"an API server that is down":            {after(0, coordinationv1.LeaseSpec{}, failed), "", failed, 0},
		"an API server that goes down":          {after(4*time.Second, coordinationv1.LeaseSpec{}, failed), "", failed, 4 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				got, err := leader.Find(t.Context(), &reader{at: tc.at}, key, clock.RealClock{})
				if took := time.Since(start); got != tc.want || !errors.Is(err, tc.err) || took != tc.took {
					t.Errorf("got %q, error %v, after %s; want %q, error %v, after %s", got, err, took, tc.want, tc.err, tc.took)
				}
			})
		})
	}
}

func TestFindEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		renewed := time.Now()
		dead := &reader{at: func(time.Duration) (coordinationv1.LeaseSpec, error) { return lease("pod-a", renewed), nil }}
		if got, err := leader.Find(ctx, dead, key, clock.RealClock{}); got != "" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %q, error %v", got, err)
		}
	})
}

func TestFindLogsOnlyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
		find := func(spec coordinationv1.LeaseSpec) {
			at := func(time.Duration) (coordinationv1.LeaseSpec, error) { return spec, nil }
			if got, err := leader.Find(ctx, &reader{at: at}, key, clock.RealClock{}); got != "" || err != nil {
				t.Errorf("got %q, error %v", got, err)
			}
		}
		find(lease("", time.Now()))
		if len(lines) > 0 {
			t.Errorf("logged %q without a wait", lines)
		}
		find(lease("pod-a", time.Now()))
		want := `"lease"="flotilla-system/ingester.flotilla.dev" "leader"="pod-a" "duration"="15s"`
		if len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("logged %q, want one line with %s", lines, want)
		}
	})
}
