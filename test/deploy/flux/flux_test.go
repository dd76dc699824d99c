package flux

import (
	"os"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Statuses of Flux.
const (
	inProgress = "InProgress"
	failed     = "Failed"
	current    = "Current"
)

// expressions are an entry of spec.healthCheckExprs of a Kustomization.
type expressions struct{ APIVersion, Kind, InProgress, Failed, Current string }

func read(t *testing.T) []expressions {
	t.Helper()
	raw, err := os.ReadFile("../../../deploy/flux/health-check-exprs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var spec struct{ HealthCheckExprs []expressions }
	if err := yaml.UnmarshalStrict(raw, &spec); err != nil {
		t.Fatal(err)
	}
	return spec.HealthCheckExprs
}

// evaluate evaluates one expression. Flux parses expressions, but does not check them.
func evaluate(t *testing.T, expression string, u *unstructured.Unstructured) bool {
	t.Helper()
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(parsed)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := program.Eval(u.Object)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	result, ok := out.(types.Bool)
	if !ok {
		t.Fatalf("%s: got %T, want a bool", expression, out)
	}
	return bool(result)
}

func (e expressions) health(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	observed, found, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case found && observed != u.GetGeneration(), evaluate(t, e.InProgress, u):
		return inProgress
	case evaluate(t, e.Failed, u):
		return failed
	case evaluate(t, e.Current, u):
		return current
	}
	return inProgress
}

// observed returns an observation of an object that has read generation 2 and applied the given one.
func observed(applied int64, change ...func(*contract.Observation)) *contract.Observation {
	o := &contract.Observation{
		Object: contract.Object{UID: "uid", Generation: 2}, ObservedGeneration: applied,
		Observer: contract.Observer{Name: "superset-operator"}, Reconcile: contract.Reconcile{Outcome: contract.Succeeded},
		Units: []contract.Unit{{
			Name: "web", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
			Desired: 2, Current: 2, Updated: 2, Ready: 2, Available: 2,
		}},
	}
	for _, c := range change {
		c(o)
	}
	return o
}

func available(n int32) func(*contract.Observation) {
	return func(o *contract.Observation) { o.Units[0].Ready, o.Units[0].Available = n, n }
}

func rolling(o *contract.Observation) { o.Units[0].Current, o.Units[0].Updated = 3, 1 }

func crashing(o *contract.Observation) {
	o.Units[0].Failures = []contract.Failure{{Class: contract.FailureCrashLoop, Count: 1}}
}

func rejected(o *contract.Observation) {
	o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Terminal: true, Reason: conditions.ReasonInvalidSpec}
}

func stopping(o *contract.Observation) { o.Intent.Stopped = true }

func none(o *contract.Observation) {
	u := &o.Units[0]
	u.Desired, u.Current, u.Updated, u.Ready, u.Available = 0, 0, 0, 0, 0
}

func TestHealth(t *testing.T) {
	stale := func(in *conditions.Input) { in.Freshness = conditions.ObserverStale }
	for name, tc := range map[string]struct {
		observations []*contract.Observation // the conditions are computed one second after each other
		change       func(*conditions.Input) // of the last one
		want         string
	}{
		"never observed":              {[]*contract.Observation{nil}, nil, inProgress},
		"healthy":                     {[]*contract.Observation{observed(2)}, nil, current},
		"a new spec is not applied":   {[]*contract.Observation{observed(1)}, nil, inProgress},
		"a new spec is rolled out":    {[]*contract.Observation{observed(2, rolling)}, nil, inProgress},
		"a new spec is rejected":      {[]*contract.Observation{observed(1, rejected)}, nil, failed},
		"a rollout crashes":           {[]*contract.Observation{observed(2, rolling, crashing)}, nil, failed},
		"pods crash":                  {[]*contract.Observation{observed(2, available(1), crashing)}, nil, failed},
		"a repair is not applied":     {[]*contract.Observation{observed(1, available(1), crashing)}, nil, inProgress},
		"a repair is rolled out":      {[]*contract.Observation{observed(2, available(1), crashing), observed(2, available(1), rolling)}, nil, inProgress},
		"pods crashed a moment ago":   {[]*contract.Observation{observed(2, available(1), crashing), observed(2)}, nil, inProgress},
		"a replica is missing":        {[]*contract.Observation{observed(2, available(1))}, nil, inProgress},
		"the observer is stale":       {[]*contract.Observation{observed(2)}, stale, inProgress},
		"pods of a stop terminate":    {[]*contract.Observation{observed(2, stopping)}, nil, inProgress},
		"stopped":                     {[]*contract.Observation{observed(2, stopping, none)}, nil, current},
		"terminating":                 {[]*contract.Observation{observed(2)}, func(in *conditions.Input) { in.Deleting = true }, inProgress},
		"the latest spec is not read": {[]*contract.Observation{observed(2)}, func(in *conditions.Input) { in.Generation = 3 }, inProgress},
	} {
		t.Run(name, func(t *testing.T) {
			in := conditions.Input{Generation: 2, Now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
			for i, o := range tc.observations {
				in.Observation, in.Now = o, in.Now.Add(time.Second)
				if tc.change != nil && i == len(tc.observations)-1 {
					tc.change(&in)
				}
				result := conditions.Compute(in)
				in.Previous, in.Memory = result.Conditions, result.Memory
			}
			object := object(t, in)
			for _, e := range read(t) {
				if got := e.health(t, object); got != tc.want {
					t.Errorf("%s: got %s, want %s: %+v", e.Kind, got, tc.want, in.Previous)
				}
			}
		})
	}
}

// object returns the resource with its last conditions. Its operator has read the observed generation.
func object(t *testing.T, in conditions.Input) *unstructured.Unstructured {
	t.Helper()
	meta, generation := metav1.ObjectMeta{Name: "main", Generation: in.Generation}, in.Generation
	if in.Observation != nil {
		generation = in.Observation.Object.Generation
	}
	if in.Deleting {
		meta.DeletionTimestamp = &metav1.Time{Time: in.Now}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Status   any               `json:"status"`
	}{meta, &struct {
		ObservedGeneration int64              `json:"observedGeneration"`
		Conditions         []metav1.Condition `json:"conditions"`
	}{generation, in.Previous}})
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func TestExpressionsNameEachKind(t *testing.T) {
	named := map[string]bool{}
	for _, e := range read(t) {
		named[e.APIVersion+" "+e.Kind] = true
	}
	for _, kind := range contract.Kinds() {
		// These need none: see deploy/flux/README.md.
		if kind.Stored() || kind == contract.FireboltEngineClass {
			continue
		}
		gvk, _ := contract.Lookup(kind)
		if want := gvk.Group + "/" + gvk.Version + " " + gvk.Kind; !named[want] {
			t.Errorf("no expressions for %s", want)
		}
	}
}
