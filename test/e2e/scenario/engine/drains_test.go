package engine

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// A generation that was deleted without a drain fails the scenario.
func TestCountDrainsReportsSkippedDrain(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"transitions": []any{
		map[string]any{"seq": int64(1), "reason": "Drained"},
		map[string]any{"seq": int64(2), "reason": "DrainSkipped"},
	}}}}
	e := &Engine{Platform: &platform.Platform{}, checkedSeq: 0}
	if e.countDrains(o) == nil || e.drained != 1 {
		t.Errorf("drained %d", e.drained)
	}
	if err := e.countDrains(o); err != nil || e.drained != 1 {
		t.Errorf("transitions that were checked before: %v, drained %d", err, e.drained)
	}
}
