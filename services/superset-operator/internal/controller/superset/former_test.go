package superset

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// The objects of a former Superset must not stop the reconciles of a restored one, or those of a new one without an end.
func TestAdoptWaitsForFormerObjectsOfNewSupersetOnly(t *testing.T) {
	created := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(created)
	r := &Reconciler{Config: Config{Clock: clock}}
	s := &reconcileState{
		sup:      &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}},
		snapshot: &snapshot.Snapshot{Former: []snapshot.Object{&corev1.ConfigMap{}}},
	}
	for age, waits := range map[time.Duration]bool{0: true, formerTimeout - time.Second: true, formerTimeout: false, time.Hour: false} {
		clock.SetTime(created.Add(age))
		result, err := r.adopt(t.Context(), s)
		if err != nil || result.Stop != waits {
			t.Errorf("after %s: got %+v, %v, want a wait: %t", age, result, err, waits)
		}
	}
}
