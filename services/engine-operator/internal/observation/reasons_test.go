package observation

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// reasonRow has all conditions of an object for one reason, with a new spec. The messages come from the functions that
// the controllers call.
type reasonRow struct {
	name string // the reason, and a suffix that distinguishes its rows
	on   string // the operator's own condition that has the reason: "Ready=False"
	six  string // see evaluate; empty for a class, which has none of the six
	// remedy is what the user must do; empty if the operator or Kubernetes continues.
	remedy string
	// unaffected is true if the operator's own condition reports something else, and only Degraded has the remedy.
	unaffected bool
	// cause is the API server's text that Degraded has; empty if there is none.
	cause string

	own         []metav1.Condition
	observation contract.Observation
}

// rowsOf has the tables by kind.
var rowsOf = map[string]func() []reasonRow{"engine": engineReasons, "class": classReasons, "instance": instanceReasons}

func TestReasonsMatchConditions(t *testing.T) {
	for kind, rows := range rowsOf {
		for _, r := range rows() {
			t.Run(kind+"/"+r.name, r.check)
		}
	}
}

func (r reasonRow) reason() string {
	reason, _, _ := strings.Cut(r.name, ",")
	return reason
}

func (r reasonRow) check(t *testing.T) {
	t.Helper()
	kind, status, _ := strings.Cut(r.on, "=")
	own := meta.FindStatusCondition(r.own, kind)
	if own == nil || string(own.Status) != status || own.Reason != r.reason() || own.Message == "" {
		t.Fatalf("%s is %+v, want %s with reason %s", kind, own, r.on, r.reason())
	}
	if r.remedy != "" && !r.unaffected && (!strings.HasSuffix(own.Message, ". "+r.remedy) || own.ObservedGeneration != 4) {
		t.Errorf("%s has message %q of generation %d, want the remedy %q of the latest one", kind, own.Message, own.ObservedGeneration, r.remedy)
	}
	if r.six != "" {
		r.checkSix(t)
	} else if own.Status == metav1.ConditionFalse && r.remedy == "" {
		t.Errorf("%s is False; the row has no remedy", kind)
	}
}

func (r reasonRow) checkSix(t *testing.T) {
	t.Helper()
	got, list := evaluate(r.observation, 4, time.Hour) // hold-downs are over
	if got != r.six {
		for _, c := range list {
			t.Logf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
		t.Errorf("the conditions are %s, want %s", got, r.six)
	}
	if early, _ := evaluate(r.observation, 4, 15*time.Second); early != got && strings.HasSuffix(got, " "+conditions.ReasonCreateFailed) {
		t.Errorf("after 15 s the conditions are %s, want %s", early, got)
	}
	p, d, u := meta.FindStatusCondition(list, "Progressing"), meta.FindStatusCondition(list, "Degraded"), meta.FindStatusCondition(list, "Upgradable")
	if slices.Contains(slices.Concat(conditions.TerminalReasons(), []string{conditions.ReasonDependencyUnavailable}), d.Reason) {
		for _, c := range []*metav1.Condition{d, u} {
			if (c == d || c.Reason == conditions.ReasonDegraded) && (r.remedy == "" || !strings.HasSuffix(c.Message, ". "+r.remedy)) {
				t.Errorf("%s has reason %s and message %q, want the remedy %q", c.Type, c.Reason, c.Message, r.remedy)
			}
		}
	}
	if !strings.Contains(d.Message, r.cause) {
		t.Errorf("Degraded has message %q, want the cause %q", d.Message, r.cause)
	}
	if slices.Contains(slices.Concat(conditions.TerminalReasons(), conditions.WaitingReasons()), p.Reason) {
		for _, c := range []*metav1.Condition{p, d, u} {
			if c.ObservedGeneration != 4 {
				t.Errorf("%s has observedGeneration %d, want the latest one", c.Type, c.ObservedGeneration)
			}
		}
	}
}

// evaluate returns the statuses of Available, Progressing, Degraded, Upgradable, Paused and
// Stopped, in this order: True, False or Unknown; and the reasons of Progressing and
// Degraded; at the given time after the first observation.
func evaluate(o contract.Observation, generation int64, after time.Duration) (string, []metav1.Condition) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	in := conditions.Input{Observation: &o, Generation: generation, Now: now}
	first := conditions.Compute(in)
	in.Previous, in.Memory, in.Now = first.Conditions, first.Memory, now.Add(after)
	last := conditions.Compute(in)
	out := make([]byte, 0, len(last.Conditions))
	for _, c := range last.Conditions {
		out = append(out, c.Status[0])
	}
	find := func(kind string) string { return meta.FindStatusCondition(last.Conditions, kind).Reason }
	return string(out) + " " + find("Progressing") + " " + find("Degraded"), last.Conditions
}

// sources are the packages and files that set the conditions of each kind.
var sources = map[string][]string{
	"engine":   {"../controller/engine", "../engine", "../status/engine.go", "../status/enginefailures.go", "../status/warning.go"},
	"class":    {"../controller/class", "../status/class.go"},
	"instance": {"../controller/instance", "../status/instance.go", "../status/instancefailures.go", "../status/component.go"},
}

// The tables are complete: each reason of the API that the code of a kind names has a row of that kind, and the code of
// some kind names each reason of the API.
func TestReasonsHaveRows(t *testing.T) {
	declared, named := declaredReasons(t), map[string]bool{}
	if len(declared) < 30 {
		t.Fatalf("only %d reasons were found: %v", len(declared), declared)
	}
	for kind, paths := range sources {
		rows := map[string]bool{}
		for _, r := range rowsOf[kind]() {
			rows[r.reason()] = true
		}
		for _, name := range namedReasons(t, paths) {
			named[name] = true
			if reason := declared[name]; !rows[reason] {
				t.Errorf("the table of the %s has no row for %s (%s)", kind, reason, name)
			}
		}
	}
	for name := range declared {
		if !named[name] {
			t.Errorf("no code names %s, or this test does not read it", name)
		}
	}
}

// declaredReasons returns the reasons of the API by the names of their constants.
func declaredReasons(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	inspect(t, "../../api/v1alpha1", func(n ast.Node) {
		v, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(v.Names[0].Name, "Reason") {
			return
		}
		literal, ok := v.Values[0].(*ast.BasicLit)
		if !ok {
			t.Errorf("the value of %s is not a literal", v.Names[0].Name)
			return
		}
		out[v.Names[0].Name] = strings.Trim(literal.Value, `"`)
	})
	return out
}

// namedReasons returns the constants of reasons that the code names.
func namedReasons(t *testing.T, paths []string) []string {
	t.Helper()
	var out []string
	for _, path := range paths {
		inspect(t, path, func(n ast.Node) {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || !strings.HasPrefix(s.Sel.Name, "Reason") {
				return
			}
			if from, ok := s.X.(*ast.Ident); ok && from.Name == "v1alpha1" {
				out = append(out, s.Sel.Name)
			}
		})
	}
	return out
}

// inspect visits the syntax of a file, or of all files below a directory, except tests.
func inspect(t *testing.T, path string, visit func(ast.Node)) {
	t.Helper()
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool { visit(n); return true })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
