package intent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/intent"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

const rejected = "refused"

func object(command string, suspend any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	if command != "" {
		u.SetAnnotations(map[string]string{view.AnnotationCommand: command, "other": "stays"})
	}
	if suspend != nil {
		u.Object["spec"] = map[string]any{"suspend": suspend}
	}
	return u
}

// TestDecideAllStatesAndVerbs lists the patch of each verb in each state; "" means no patch.
func TestDecideAllStatesAndVerbs(t *testing.T) {
	const (
		pause   = `{"metadata":{"annotations":{"operator-command":"Paused"}}}`
		stop    = `{"metadata":{"annotations":{"operator-command":"Stopped"}}}`
		unset   = `{"metadata":{"annotations":{"operator-command":null}}}`
		suspend = `{"spec":{"suspend":true}}`
		resumed = `{"spec":{"suspend":null}}`
		both    = `{"metadata":{"annotations":{"operator-command":null}},"spec":{"suspend":null}}`
	)
	verbs := []intent.Verb{intent.Pause, intent.Resume, intent.Stop, intent.Start}
	for name, tc := range map[string]struct {
		kind    contract.Kind
		command string
		suspend any
		want    [4]string
	}{
		"no intent":                    {contract.Superset, "", nil, [4]string{pause, "", stop, ""}},
		"suspend false":                {contract.Superset, "", false, [4]string{pause, "", stop, ""}},
		"paused":                       {contract.Superset, "Paused", nil, [4]string{"", unset, rejected, ""}},
		"suspended":                    {contract.Superset, "", true, [4]string{"", resumed, stop, ""}},
		"paused and suspended":         {contract.Superset, "Paused", true, [4]string{"", both, rejected, ""}},
		"stopped":                      {contract.Superset, "Stopped", nil, [4]string{suspend, "", "", unset}},
		"stopped and suspended":        {contract.Superset, "Stopped", true, [4]string{"", resumed, "", unset}},
		"an unknown intent":            {contract.Superset, "paused", nil, [4]string{pause, "", stop, ""}},
		"an engine":                    {contract.FireboltEngine, "", nil, [4]string{pause, "", stop, ""}},
		"a paused engine":              {contract.FireboltEngine, "Paused", nil, [4]string{"", unset, rejected, ""}},
		"a stopped engine":             {contract.FireboltEngine, "Stopped", nil, [4]string{rejected, "", "", unset}},
		"a stopped instance":           {contract.FireboltInstance, "Stopped", nil, [4]string{rejected, "", "", unset}},
		"a class has no intent":        {contract.FireboltEngineClass, "", nil, [4]string{rejected, rejected, rejected, rejected}},
		"a kind of a new service":      {"widget", "", nil, [4]string{pause, "", stop, ""}},
		"a stopped new kind":           {"widget", "Stopped", nil, [4]string{rejected, "", "", unset}},
		"a foreign kind has no intent": {"pipeline", "", nil, [4]string{rejected, rejected, rejected, rejected}},
	} {
		for i, verb := range verbs {
			t.Run(fmt.Sprintf("%s/%s", name, verb), func(t *testing.T) {
				change, err := intent.Decide(verb, tc.kind, object(tc.command, tc.suspend))
				got := ""
				switch {
				case errors.Is(err, intent.ErrRejected):
					got = rejected
				case err != nil:
					t.Fatal(err)
				case change.Patch != nil:
					raw, err := json.Marshal(change.Patch)
					if err != nil {
						t.Fatal(err)
					}
					got = string(raw)
				}
				if got != tc.want[i] {
					t.Errorf("got %s, want %s", got, tc.want[i])
				}
				if err == nil && (change.Patch == nil) == (change.Unchanged == "") {
					t.Errorf("%+v has neither a patch nor a reason", change)
				}
			})
		}
	}
}
