package printer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/evidence"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/printer"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

func conditions(generation int64, pairs ...string) []contract.Condition {
	var out []contract.Condition
	for _, p := range pairs {
		f := strings.Split(p, "/")
		out = append(out, contract.Condition{Type: f[0], Status: f[1], Reason: f[2], ObservedGeneration: generation})
	}
	return out
}

func TestNoteShowsMostUrgentCondition(t *testing.T) {
	healthy := []string{"Available/True/AllComponentsReady", "Progressing/False/AsExpected", "Degraded/False/AsExpected"}
	with := func(s ...string) []contract.Condition {
		return conditions(4, append(append([]string{}, s...), healthy...)...)
	}
	for name, tc := range map[string]struct {
		r    view.Resource
		want string
	}{
		"healthy":                  {view.Resource{Generation: 4, Conditions: with()}, ""},
		"not observed yet":         {view.Resource{Generation: 4}, "NotYetObserved"},
		"terminating":              {view.Resource{Generation: 4, Deleting: true}, "Deleting"},
		"degraded while paused":    {view.Resource{Generation: 4, Intent: contract.Intent{Paused: true}, Conditions: conditions(4, "Available/True/x", "Degraded/True/CrashLoop")}, "CrashLoop"},
		"stale observer":           {view.Resource{Generation: 4, Conditions: conditions(4, "Available/Unknown/ObserverStale")}, "ObserverStale"},
		"paused":                   {view.Resource{Generation: 4, Intent: contract.Intent{Paused: true}, Conditions: with()}, "Paused"},
		"stopped":                  {view.Resource{Generation: 4, Intent: contract.Intent{Stopped: true}, Conditions: conditions(4, "Available/False/Stopped")}, "Stopped"},
		"latest spec not observed": {view.Resource{Generation: 5, Conditions: with()}, "SpecNotObserved"},
		"unavailable":              {view.Resource{Generation: 4, Conditions: conditions(4, "Available/False/InsufficientReplicas", "Progressing/True/RollingOut")}, "InsufficientReplicas"},
		"rolling out":              {view.Resource{Generation: 4, Conditions: conditions(4, "Available/True/x", "Progressing/True/RollingOut")}, "RollingOut"},
		"an invalid class":         {view.Resource{Generation: 4, ObservedGeneration: 4, Conditions: conditions(4, "Ready/False/OperatorOwnedFieldSet")}, "OperatorOwnedFieldSet"},
		"a valid class":            {view.Resource{Generation: 4, ObservedGeneration: 4, Conditions: conditions(4, "Ready/True/Admissible")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := printer.Note(tc.r); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPrinterEscapesControlCharacters(t *testing.T) {
	malicious := "\x1b]0;owned\x07\r\n\x1b[2J \u009b2J\u202e evil"
	r := view.Resource{
		Kind: contract.Superset, Namespace: malicious, Name: malicious, Phase: malicious, DeployedVersion: malicious,
		Groups:     []view.Group{{Title: "Components", Parts: []view.Part{{Name: malicious, State: malicious, Message: malicious}}}},
		Conditions: []contract.Condition{{Type: malicious, Status: malicious, Reason: malicious, Message: malicious}},
	}
	var out strings.Builder
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ticker := &printer.Ticker{}
	for name, err := range map[string]error{
		"table": printer.Resources(&out, []view.Resource{r}, printer.Columns{Namespace: true, Wide: true}, now),
		"tree":  printer.Tree(&out, r, now), "line": ticker.Add(&out, r, now),
		"report": printer.Report(&out, evidence.Report{Observation: &contract.Observation{Units: []contract.Unit{{
			Name: malicious, Failures: []contract.Failure{{Message: malicious, Examples: []string{malicious}}},
		}}}}, now),
		"event": printer.Event(&out, now, 1, malicious, contract.Lifecycle{Object: contract.Object{Namespace: malicious, Name: malicious}, Message: malicious}),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text := out.String(); strings.ContainsAny(text, "\x1b\r\a\u009b\u202e") || strings.Count(text, "\n") != 17 {
		t.Errorf("written is %q", text)
	}
}

func TestDescribeLifecycleEvent(t *testing.T) {
	for want, e := range map[string]contract.Lifecycle{
		"Degraded absent -> True (CrashLoop) ": {Event: contract.EventDegraded, Condition: &contract.ConditionChange{
			Type: "Degraded", After: contract.Condition{Status: "True", Reason: "CrashLoop"},
		}},
		"phase none -> Running ": {
			Event: contract.EventPhase, Phase: &contract.PhaseChange{Seq: 1, To: "Running"},
		},
		"[events before this one are missing] The bucket was wiped.": {
			Event: contract.EventGap, Gap: true, Phase: &contract.PhaseChange{}, Message: "The bucket was wiped.",
		},
		"Available=True Degraded=False ": {
			Event:      contract.EventSnapshot,
			Conditions: []contract.Condition{{Type: "Available", Status: "True"}, {Type: "Degraded", Status: "False"}},
		},
		"": {Event: contract.EventDeleted},
	} {
		if got := strings.TrimSpace(printer.Describe(e)); got != strings.TrimSpace(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
