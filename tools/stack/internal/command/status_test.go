package command

import (
	"strings"
	"testing"
)

func TestNextStepsNameRunningServices(t *testing.T) {
	all := []string{"engine-operator", "ingester", "status-aggregator", "superset-operator"}
	for name, tc := range map[string]struct {
		running, contains, lacks []string
	}{
		"all": {
			all,
			[]string{"the PATH to kubectl and its plugin", "kubectl flotilla status -A", "why superset/development", "patch superset"},
			[]string{"Not running"},
		},
		"ingester": {
			[]string{"ingester"},
			[]string{"the PATH to kubectl):", "kubectl get pods -A", "Not running: engine-operator, status-aggregator, superset-operator.", "`kubectl flotilla` need status-aggregator"},
			[]string{"flotilla page", "subscribe", "superset development"},
		},
		"aggregator without Superset": {
			[]string{"engine-operator", "status-aggregator"},
			[]string{"kubectl flotilla status -A", "Not running: ingester, superset-operator. `make up` without"},
			[]string{"superset/development", "need status-aggregator"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := nextSteps("ENV", tc.running, all)
			for _, want := range tc.contains {
				if !strings.Contains(text, want) {
					t.Errorf("text lacks %q:\n%s", want, text)
				}
			}
			for _, unwanted := range tc.lacks {
				if strings.Contains(text, unwanted) {
					t.Errorf("text contains %q:\n%s", unwanted, text)
				}
			}
		})
	}
}
