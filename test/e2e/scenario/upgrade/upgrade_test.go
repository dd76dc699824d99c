package upgrade

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

func TestUpgradeReportsChangedPods(t *testing.T) {
	before := map[string]string{"web-1": "UID a with 0 restarts"}
	for name, now := range map[string]map[string]string{
		"restarted": {"web-1": "UID a with 1 restarts"},
		"recreated": {"web-1": "UID b with 0 restarts"},
		"deleted":   {},
		"added":     {"web-1": "UID a with 0 restarts", "web-2": "UID c with 0 restarts"},
	} {
		if differences("pod", before, now) == nil {
			t.Errorf("a pod that was %s is not detected", name)
		}
	}
	if err := differences("pod", before, maps.Clone(before)); err != nil {
		t.Error(err)
	}
	if err := differences("condition", before, map[string]string{"web-1": before["web-1"], "a new one": "True"}); err != nil {
		t.Errorf("a later release may have further conditions: %v", err)
	}
}

func TestUpgradeIgnoresTransientConditions(t *testing.T) {
	now := userState{conditions: map[string]string{}}
	for _, name := range []string{"Available", "Progressing", "Upgradable", "Degraded"} {
		if err := now.add(object(1, map[string]any{"type": name, "status": "True", "reason": "R", "lastTransitionTime": "T"})); err != nil {
			t.Fatal(err)
		}
	}
	if want := map[string]string{" Available": "True (R) since T", " Degraded": "True (R) since T"}; !maps.Equal(now.conditions, want) {
		t.Errorf("%v, want %v", now.conditions, want)
	}
}

func TestUpgradeFailsOnOldPage(t *testing.T) {
	for class, want := range map[string]bool{"web: 200 new": true, "web: 200 old": false, "web: 200 maintenance": false} {
		err := evaluate(nil, []load.Figures{{Phase: "last", Answers: 1, Classes: map[string]int{class: 1}}})
		if (err == nil) != want {
			t.Errorf("%s: %v", class, err)
		}
	}
}

func TestUpgradeRequiresPreviousCommit(t *testing.T) {
	dir := t.TempDir()
	for _, previous := range []string{"", dir} {
		err := (&upgrades{Platform: &platform.Platform{Previous: previous}}).requirePrevious()
		if err == nil || !strings.Contains(err.Error(), "--previous") || !strings.Contains(err.Error(), "make e2e") {
			t.Errorf("%q: %v", previous, err)
		}
	}
	for service := range platform.ServiceLeases {
		if err := os.MkdirAll(filepath.Join(dir, service), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, service, "Chart.yaml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&upgrades{Platform: &platform.Platform{Previous: dir}}).requirePrevious(); err != nil {
		t.Error(err)
	}
}

func TestUpgradePhasesHaveUniqueNames(t *testing.T) {
	s := Services(&platform.Platform{})
	seen := map[string]bool{}
	for _, p := range s.Phases {
		if seen[p.Name] || p.Do == nil || p.Outage {
			t.Errorf("phase %q is a duplicate, has no function or allows failed answers", p.Name)
		}
		seen[p.Name] = true
	}
}

func object(generation int64, condition map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"generation": generation},
		"status":   map[string]any{"conditions": []any{condition}},
	}}
}
