package kstatus

import (
	"os"
	"regexp"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// state is one possible state of a resource.
type state struct {
	units         []contract.Unit
	change        func(*conditions.Input)
	own           metav1.ConditionStatus // of the Ready that the operator itself writes; empty: the test writes the one that Compute returns
	differs       string                 // the row of README.md with the reason for the difference
	want, kstatus status.Status          // by the six conditions, by the library
}

func unit(change ...func(*contract.Unit)) contract.Unit {
	u := contract.Unit{
		Name: "web", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
		Desired: 2, Current: 2, Updated: 2, Ready: 2, Available: 2,
	}
	for _, c := range change {
		c(&u)
	}
	return u
}

func available(n int32) func(*contract.Unit) {
	return func(u *contract.Unit) { u.Ready, u.Available = n, n }
}

func updating(u *contract.Unit) { u.Current, u.Updated = 3, 1 }

func zero(u *contract.Unit) { u.Desired, u.Current, u.Updated, u.Ready, u.Available = 0, 0, 0, 0, 0 }

func failing(class contract.FailureClass) func(*contract.Unit) {
	return func(u *contract.Unit) { u.Failures = []contract.Failure{{Class: class, Count: 1}} }
}

func observation(f func(*contract.Observation)) func(*conditions.Input) {
	return func(in *conditions.Input) { f(in.Observation) }
}

var (
	stopping = observation(func(o *contract.Observation) { o.Intent.Stopped = true })
	paused   = observation(func(o *contract.Observation) { o.Intent.Paused = true })
	outdated = observation(func(o *contract.Observation) { o.ObservedGeneration = 1 })
)

var states = map[string]state{
	"available":                     {units: []contract.Unit{unit()}, want: "Current", kstatus: "Current"},
	"more than desired":             {units: []contract.Unit{unit(available(3))}, want: "InProgress", kstatus: "Current", differs: "rolling out, and serving"},
	"scaled to zero":                {units: []contract.Unit{unit(zero)}, want: "Current", kstatus: "Current"},
	"first rollout":                 {units: []contract.Unit{unit(available(0))}, want: "InProgress", kstatus: "InProgress"},
	"rollout with replicas missing": {units: []contract.Unit{unit(updating, available(1))}, want: "InProgress", kstatus: "InProgress"},
	"rollout that keeps serving":    {units: []contract.Unit{unit(updating)}, want: "InProgress", kstatus: "Current", differs: "rolling out, and serving"},
	"a task runs": {
		units:  []contract.Unit{unit(available(0))},
		change: observation(func(o *contract.Observation) { o.Jobs = []contract.Job{{Name: "migrate", State: contract.JobRunning}} }),
		want:   "InProgress", kstatus: "InProgress",
	},
	"behind the maintenance page": {
		units: []contract.Unit{unit(func(u *contract.Unit) { u.Routed = false })}, want: "InProgress", kstatus: "InProgress",
	},
	"stalled": {
		units: []contract.Unit{unit(available(0), func(u *contract.Unit) { u.Stalled = true })},
		want:  "Failed", kstatus: "InProgress", differs: "degraded",
	},
	"degraded, yet serving": {
		units: []contract.Unit{unit(failing(contract.FailureCrashLoop))}, want: "Failed", kstatus: "InProgress", differs: "degraded",
	},
	"degraded": {
		units: []contract.Unit{unit(available(1), failing(contract.FailureImagePull))}, want: "Failed", kstatus: "InProgress", differs: "degraded",
	},
	"a task failed": {
		units:  []contract.Unit{unit(available(0))},
		change: observation(func(o *contract.Observation) { o.Jobs = []contract.Job{{Name: "migrate", State: contract.JobFailed}} }),
		want:   "Failed", kstatus: "InProgress", differs: "degraded",
	},
	"a failure within the hold-down": {
		units:  []contract.Unit{unit()},
		change: observation(func(o *contract.Observation) { o.Reconcile.Outcome = contract.Failed }),
		want:   "Current", kstatus: "Current",
	},
	"paused": {units: []contract.Unit{unit()}, change: paused, want: "Current", kstatus: "Current"},
	"paused, the spec not applied": {
		units: []contract.Unit{unit()}, change: both(paused, outdated), want: "InProgress", kstatus: "Current", differs: "not applied yet, and serving",
	},
	"stopped":  {units: []contract.Unit{unit(zero)}, change: stopping, want: "Current", kstatus: "InProgress", differs: "stopped"},
	"stopping": {units: []contract.Unit{unit(available(0))}, change: stopping, want: "InProgress", kstatus: "InProgress"},
	"the spec is not observed": {
		units:  []contract.Unit{unit()},
		change: observation(func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = 1, 1 }),
		want:   "InProgress", kstatus: "InProgress",
	},
	"the spec is not applied to every child": {
		units: []contract.Unit{unit()}, change: outdated, want: "InProgress", kstatus: "Current", differs: "not applied yet, and serving",
	},
	"deleting": {
		units: []contract.Unit{unit()}, change: func(in *conditions.Input) { in.Deleting = true }, want: "Terminating", kstatus: "Terminating",
	},
	"stale": {
		units:  []contract.Unit{unit()},
		change: func(in *conditions.Input) { in.Freshness = conditions.ObserverStale },
		want:   "Unknown", kstatus: "InProgress", differs: "not known",
	},
	"never observed": {
		change: func(in *conditions.Input) { in.Observation = nil }, want: "InProgress", kstatus: "InProgress",
	},
	"no component is enabled": {want: "Current", kstatus: "Current"},
	"the spec is rejected": {
		units: []contract.Unit{unit()}, change: both(outdated, observation(func(o *contract.Observation) {
			o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Terminal: true, Reason: conditions.ReasonInvalidSpec}
		})),
		want: "InProgress", kstatus: "InProgress",
	},
	"the node is lost": {
		units: []contract.Unit{unit(available(1), failing(contract.FailureNodeLost))}, want: "Unknown", kstatus: "InProgress", differs: "not known",
	},
	// An engine's own Ready, as specification 001 has it.
	"an engine that is stable":  {units: []contract.Unit{unit()}, own: metav1.ConditionTrue, want: "Current", kstatus: "Current"},
	"an engine that is rolling": {units: []contract.Unit{unit(), incoming()}, own: metav1.ConditionFalse, want: "InProgress", kstatus: "InProgress"},
	"an engine that is stopped": {
		units: []contract.Unit{unit(zero)}, change: stopping, own: metav1.ConditionFalse, want: "Current", kstatus: "InProgress", differs: "stopped",
	},
}

func both(f, g func(*conditions.Input)) func(*conditions.Input) {
	return func(in *conditions.Input) { f(in); g(in) }
}

func incoming() contract.Unit {
	return unit(func(u *contract.Unit) { u.Name, u.Role = "g2", contract.Incoming })
}

// input returns the Input of the state, for an object at generation 2.
func (s state) input() conditions.Input {
	in := conditions.Input{
		Observation: &contract.Observation{
			Object: contract.Object{UID: "uid", Generation: 2}, ObservedGeneration: 2,
			Reconcile: contract.Reconcile{Outcome: contract.Succeeded}, Units: s.units,
		},
		Generation: 2, Now: now, WithReady: s.own == "",
	}
	if s.change != nil {
		s.change(&in)
	}
	return in
}

// object returns the resource as the API server returns it.
func (s state) object(t *testing.T, in conditions.Input, written []metav1.Condition) *unstructured.Unstructured {
	t.Helper()
	if s.own != "" {
		written = append(written, metav1.Condition{Type: conditions.TypeReady, Status: s.own, Reason: "Own"})
	}
	observed := int64(0)
	switch {
	case in.Observation != nil && s.own != "": // an engine claims the generation that is rolled out
		observed = in.Observation.ObservedGeneration
	case in.Observation != nil: // the others that which was read
		observed = in.Observation.Object.Generation
	}
	meta := metav1.ObjectMeta{Name: "main", Generation: in.Generation}
	if in.Deleting {
		meta.DeletionTimestamp = &metav1.Time{Time: now}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Status            any `json:"status"`
	}{
		metav1.TypeMeta{APIVersion: "superset.apache.org/v1alpha1", Kind: "Superset"},
		meta,
		&struct {
			ObservedGeneration int64              `json:"observedGeneration"`
			Conditions         []metav1.Condition `json:"conditions"`
		}{observed, written},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

// expected maps the six conditions to a status of the library.
func expected(in conditions.Input, written []metav1.Condition) status.Status {
	c := map[string]metav1.Condition{}
	for _, w := range written {
		c[w.Type] = w
	}
	available, progressing := c[conditions.TypeAvailable], c[conditions.TypeProgressing]
	switch {
	case in.Deleting:
		return status.TerminatingStatus
	case available.ObservedGeneration < in.Generation:
		return status.InProgressStatus
	case c[conditions.TypeStopped].Status == metav1.ConditionTrue:
		return status.CurrentStatus
	case available.Status == metav1.ConditionUnknown:
		return status.UnknownStatus
	case c[conditions.TypeDegraded].Status == metav1.ConditionTrue:
		return status.FailedStatus
	case available.Status == metav1.ConditionTrue && progressing.Status == metav1.ConditionFalse:
		return status.CurrentStatus
	}
	return status.InProgressStatus
}

func TestKstatusMatchesConditionsOrExceptions(t *testing.T) {
	listed := exceptions(t)
	used := map[string]bool{}
	for name, s := range states {
		t.Run(name, func(t *testing.T) {
			in := s.input()
			written := conditions.Compute(in).Conditions
			result, err := status.Compute(s.object(t, in, written))
			if err != nil {
				t.Fatal(err)
			}
			if got := expected(in, written); got != s.want {
				t.Errorf("ours is %s, want %s: %+v", got, s.want, written)
			}
			if result.Status != s.kstatus {
				t.Errorf("the library returns %s (%s), want %s", result.Status, result.Message, s.kstatus)
			}
			switch {
			case s.differs == "" && s.want != s.kstatus:
				t.Errorf("ours is %s, the library's %s, and no exception is named", s.want, s.kstatus)
			case s.differs != "" && s.want == s.kstatus:
				t.Errorf("%q is named as an exception, and is none", s.differs)
			case s.differs != "" && !listed[s.differs]:
				t.Errorf("README.md does not list %q", s.differs)
			}
			used[s.differs] = true
		})
	}
	for e := range listed {
		if !used[e] {
			t.Errorf("README.md lists %q, which does not occur", e)
		}
	}
}

// A wait for Ready never ends before the latest spec is in effect.
func TestNewSpecIsNotCurrent(t *testing.T) {
	for name, s := range states {
		in := s.input()
		in.Generation++ // the spec changes now
		result, err := status.Compute(s.object(t, in, conditions.Compute(in).Conditions))
		if err != nil {
			t.Fatal(err)
		}
		if result.Status == status.CurrentStatus {
			t.Errorf("%s: Current although the newest spec was not read", name)
		}
	}
}

// exceptions reads the table of README.md.
func exceptions(t *testing.T) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z, ]+) \| (?:Current|InProgress|Failed|Unknown) \| (?:Current|InProgress) \| .+ \|$`).FindAllStringSubmatch(string(raw), -1) {
		out[row[1]] = true
	}
	return out
}
