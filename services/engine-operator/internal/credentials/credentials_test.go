package credentials

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// A thousand ready instances send at most 20 requests a second, at different times.
func TestRecheckIsRareWhileReady(t *testing.T) {
	const n = 1000
	delays, rate, longest := map[time.Duration]bool{}, 0.0, time.Duration(0)
	for uid := range n {
		i := &v1alpha1.FireboltInstance{}
		i.UID, i.Generation = types.UID(fmt.Sprint(uid)), 2
		i.Status.MetadataReady, i.Status.ObservedGeneration = true, 2
		d := Recheck(i)
		if d < minReady || d > maxReady {
			t.Fatalf("recheck after %s, want between %s and %s", d, minReady, maxReady)
		}
		delays[d], longest = true, max(longest, d)
		rate += 1 / d.Seconds()
	}
	if rate > 20 || len(delays) < n/2 || longest < maxReady-time.Second {
		t.Errorf("%.0f requests a second at %d different intervals of at most %s", rate, len(delays), longest)
	}
}

func TestRecheckIsFrequentUntilReady(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.FireboltInstance){
		"not ready":      func(i *v1alpha1.FireboltInstance) { i.Status.MetadataReady = false },
		"a changed spec": func(i *v1alpha1.FireboltInstance) { i.Generation++ },
	} {
		i := &v1alpha1.FireboltInstance{}
		i.Status.MetadataReady = true
		change(i)
		if d := Recheck(i); d != Interval {
			t.Errorf("%s: recheck after %s, want %s", name, d, Interval)
		}
	}
}
