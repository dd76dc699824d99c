package bus

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

func TestConditionCheckNamesMismatch(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(2)}}}
	set := func(conditionType, status, reason string, generation int64) {
		list, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
		if err == nil {
			err = unstructured.SetNestedSlice(o.Object, append(list, map[string]any{
				"type": conditionType, "status": status, "reason": reason, "observedGeneration": generation,
			}), "status", "conditions")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for conditionType, want := range running {
		if conditionType != "Paused" {
			set(conditionType, want[0], want[1], 2)
		}
	}
	if err := running.of(o); err == nil || !strings.HasPrefix(err.Error(), "Paused is /absent instead of False/NotPaused") {
		t.Errorf("without the condition Paused: %v", err)
	}
	set("Paused", "False", "NotPaused", 2)
	if err := running.of(o); err != nil {
		t.Error(err)
	}
	if err := stopped.of(o); err == nil {
		t.Error("the conditions of a running Superset match those of a stopped one")
	}
	o.SetGeneration(3)
	if err := running.of(o); err == nil {
		t.Error("conditions of an older generation match")
	}
}

func TestDisruptionsHaveCleanup(t *testing.T) {
	s := Disruptions(&platform.Platform{})
	if s.Clean == nil || s.Limit == 0 || len(s.Phases) == 0 {
		t.Errorf("%+v", s)
	}
}
