package run

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

// fixed is a load generator that always returns the same figures.
type fixed struct {
	figures []load.Figures
	err     error
}

func (f fixed) Reset(context.Context, string) ([]load.Figures, error) { return f.figures, f.err }
func (f fixed) Phase(context.Context, string) ([]load.Figures, error) { return f.figures, f.err }
func (f fixed) Figures(context.Context) ([]load.Figures, error)       { return f.figures, f.err }

func TestTogetherMergesLoadgens(t *testing.T) {
	engine := fixed{figures: []load.Figures{
		{Phase: "up", Seconds: 9, Answers: 5, Classes: map[string]int{"200": 5}, LongestGap: 1},
		{Phase: "down", Seconds: 3, Answers: 0, LongestGap: 3},
	}}
	web := fixed{figures: []load.Figures{
		{Phase: "up", Seconds: 9, Answers: 4, Failed: 1, Classes: map[string]int{"200": 3, "reset": 1}, LongestGap: 2, Failures: []string{"reset"}},
		{Phase: "down", Seconds: 3, Answers: 4, Classes: map[string]int{"200": 4}},
	}}
	got, err := Together(Named{Name: "engine", Loadgen: engine}, Named{Name: "web", Loadgen: web}).Figures(t.Context())
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	up, down := got[0], got[1]
	if up.Phase != "up" || up.Answers != 9 || up.Failed != 1 || up.LongestGap != 2 || up.Seconds != 9 || up.Failures[0] != "web: reset" {
		t.Errorf("%+v", up)
	}
	if want := map[string]int{"engine: 200": 5, "web: 200": 3, "web: reset": 1}; !maps.Equal(up.Classes, want) {
		t.Errorf("classes %v, want %v", up.Classes, want)
	}
	labeled := Together(Named{Name: "web", Loadgen: web, Labeled: true})
	if web, err := labeled.Figures(t.Context()); err != nil || web[0].Classes["reset"] != 1 {
		t.Errorf("with a label: %+v, %v", web, err)
	}
	if err := NoFailure([]load.Figures{down}); err == nil || !strings.Contains(err.Error(), "engine: no requests were answered") {
		t.Errorf("a load generator without an answer: %v", err)
	}
}

func TestTogetherNamesFailedLoadgen(t *testing.T) {
	one := []load.Figures{{Phase: "up", Answers: 1}}
	for name, second := range map[string]fixed{
		"is unavailable":    {err: errors.New("is unavailable")},
		"of 2 phases":       {figures: append(one, one...)},
		"in phase \"down\"": {figures: []load.Figures{{Phase: "down", Answers: 1}}},
	} {
		both := Together(Named{Name: "engine", Loadgen: fixed{figures: one}}, Named{Name: "web", Loadgen: second})
		_, err := both.Phase(t.Context(), "up")
		if err == nil || !strings.Contains(err.Error(), "web") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
