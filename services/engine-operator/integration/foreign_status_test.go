package integration

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
)

// A status of another client, or of a restored backup, that names a generation without objects as active costs no
// traffic: the generation that the Service selects becomes active again, and an event reports it.
func TestForeignStatusKeepsServiceOnReadyPods(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ status, reason string }{
		"stable":                       {`{"activeGeneration":42,"currentGeneration":42}`, engine.ReasonInconsistent},
		"stable without an active one": {`{"activeGeneration":-1}`, engine.ReasonInconsistent},
		"creating":                     {`{"phase":"creating","activeGeneration":41,"currentGeneration":42}`, engine.ReasonInconsistent},
		"creating the first":           {`{"phase":"creating","activeGeneration":-1,"currentGeneration":42}`, engine.ReasonInconsistent},
		"switching":                    {`{"phase":"switching","activeGeneration":41,"currentGeneration":42}`, engine.ReasonInconsistent},
		"draining":                     {`{"phase":"draining","activeGeneration":42,"currentGeneration":42}`, engine.ReasonInconsistent},
		"draining another":             {`{"phase":"draining","activeGeneration":42,"currentGeneration":42,"drainingGeneration":41}`, engine.ReasonInconsistent},
		"cleaning what serves":         {`{"phase":"cleaning","activeGeneration":42,"currentGeneration":42,"drainingGeneration":0}`, "StatefulSetMissing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			e := engineOf("a", 2)
			s.create(e)
			s.waitForRollout(e, v1alpha1.PhaseStable, 0)
			problems := s.watchRoute(e)
			patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":%s}`, tc.status))
			if err := s.api.Status().Patch(t.Context(), e, patch); err != nil {
				t.Fatal(err)
			}
			expect.Eventually(t, expect.Long, func() error { return s.checkWarning(e, tc.reason, "generation 0") })
			s.waitForRollout(e, v1alpha1.PhaseStable, 0)
			s.checkChildren(e, "a-g0", "a-g0-config", "a-g0-hl", "a-service")
			for _, p := range problems() {
				t.Error(p)
			}
		})
	}
}
