package steps_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
)

// Example is the shape of a reconcile: guards first, then the work.
func Example() {
	type state struct {
		paused  bool
		applied []string
	}
	list := []steps.Step[state]{
		{Name: "pause", Run: func(_ context.Context, s *state) (steps.Result, error) {
			return steps.Result{Stop: s.paused}, nil
		}},
		{Name: "apply service", Run: func(_ context.Context, s *state) (steps.Result, error) {
			s.applied = append(s.applied, "service")
			return steps.Result{Requeue: time.Minute}, nil
		}},
	}
	for _, s := range []state{{paused: true}, {}} {
		result, err := steps.Run(context.Background(), &s, list)
		fmt.Println(s.applied, result.Stop, result.Requeue, err)
	}
	// Output:
	// [] true 0s <nil>
	// [service] false 1m0s <nil>
}

var errBroken = errors.New("broken")

// state has the names of the steps that ran.
type state struct{ ran []string }

func step(name string, result steps.Result, err error) steps.Step[state] {
	return steps.Step[state]{Name: name, Run: func(_ context.Context, s *state) (steps.Result, error) {
		s.ran = append(s.ran, name)
		return result, err
	}}
}

func onlyAfter(s steps.Step[state], after string) steps.Step[state] {
	s.When = func(s *state) bool { return slices.Contains(s.ran, after) }
	return s
}

func TestRun(t *testing.T) {
	ok := steps.Result{}
	tests := map[string]struct {
		list []steps.Step[state]
		ran  []string
		want steps.Result
		err  string
	}{
		"no steps do nothing": {},
		"all run in order": {
			list: []steps.Step[state]{step("a", ok, nil), step("b", ok, nil)}, ran: []string{"a", "b"},
		},
		"a step that does not apply is skipped": {
			list: []steps.Step[state]{
				step("a", ok, nil), onlyAfter(step("b", steps.Result{Stop: true}, errBroken), "x"), onlyAfter(step("c", ok, nil), "a"),
			},
			ran: []string{"a", "c"},
		},
		"a stop ends the run without an error": {
			list: []steps.Step[state]{step("a", steps.Result{Stop: true}, nil), step("b", ok, nil)},
			ran:  []string{"a"}, want: steps.Result{Stop: true},
		},
		"an error ends the run and names the step": {
			list: []steps.Step[state]{step("apply service", ok, errBroken), step("b", ok, nil)},
			ran:  []string{"apply service"}, err: "apply service: broken",
		},
		"the shortest requeue wins": {
			list: []steps.Step[state]{step("a", steps.Result{Requeue: time.Minute}, nil), step("b", steps.Result{Requeue: time.Second}, nil), step("c", ok, nil)},
			ran:  []string{"a", "b", "c"}, want: steps.Result{Requeue: time.Second},
		},
		"the requeue of earlier steps outlives a stop": {
			list: []steps.Step[state]{step("a", steps.Result{Requeue: time.Minute}, nil), step("b", steps.Result{Stop: true}, nil)},
			ran:  []string{"a", "b"}, want: steps.Result{Requeue: time.Minute, Stop: true},
		},
		"the requeue of earlier steps outlives an error": {
			list: []steps.Step[state]{step("a", steps.Result{Requeue: time.Minute}, nil), step("b", steps.Result{Requeue: time.Second}, errBroken)},
			ran:  []string{"a", "b"}, want: steps.Result{Requeue: time.Second}, err: "b: broken",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var s state
			got, err := steps.Run(t.Context(), &s, tc.list)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.ran, s.ran); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if text := fmt.Sprint(err); tc.err != "" && (text != tc.err || !errors.Is(err, errBroken)) || tc.err == "" && err != nil {
				t.Errorf("error is %v, want %q", err, tc.err)
			}
		})
	}
}

func TestRunStopsWhenContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ran := 0
	list := []steps.Step[struct{}]{
		{Name: "a", Run: func(context.Context, *struct{}) (steps.Result, error) { ran++; cancel(); return steps.Result{}, nil }},
		{Name: "b", Run: func(context.Context, *struct{}) (steps.Result, error) { ran++; return steps.Result{}, nil }},
	}
	_, err := steps.Run(ctx, &struct{}{}, list)
	if ran != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d steps ran, error %v", ran, err)
	}
}

func TestRunRecordsSpanPerStep(t *testing.T) {
	spans := record(t)
	noop := func(context.Context, *struct{}) (steps.Result, error) { return steps.Result{}, nil }
	fails := func(context.Context, *struct{}) (steps.Result, error) { return steps.Result{}, errBroken }
	list := []steps.Step[struct{}]{{Name: "preflight", Run: noop}, {Name: "apply", Run: fails}}
	ctx, end := steps.Start(t.Context(), "Superset", &metav1.ObjectMeta{})
	_, err := steps.Run(ctx, &struct{}{}, list)
	if err == nil {
		t.Fatal("got no error")
	}
	end(err)
	got := map[string]codes.Code{}
	for _, s := range spans.GetSpans() {
		got[s.Name] = s.Status.Code
		if root := s.Name == "reconcile Superset"; root == s.Parent.IsValid() {
			t.Errorf("%q has parent %s", s.Name, s.Parent.SpanID())
		}
	}
	if diff := cmp.Diff(map[string]codes.Code{"reconcile Superset": codes.Error, "preflight": codes.Unset, "apply": codes.Error}, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}

	spans.Reset()
	if _, err := steps.Run(t.Context(), &struct{}{}, list); err == nil {
		t.Fatal("got no error")
	}
	if alone := spans.GetSpans(); len(alone) > 0 {
		t.Errorf("steps without a trace made %d spans", len(alone))
	}
}

func TestMinRequeue(t *testing.T) {
	for name, tc := range map[string]struct{ a, b, want time.Duration }{
		"both never":  {0, -1, 0},
		"first never": {0, 2, 2},
		"other never": {2, 0, 2},
		"shorter":     {3, 2, 2},
	} {
		if got := steps.MinRequeue(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
