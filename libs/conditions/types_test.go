package conditions_test

import (
	"slices"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Operators of engines and instances have a Ready of their own.
func TestReadyIsWrittenForSupersetsOnly(t *testing.T) {
	for kind, want := range map[contract.Kind]bool{contract.Superset: true, contract.FireboltEngine: false, contract.FireboltInstance: false} {
		if got := conditions.WithReady(kind); got != want {
			t.Errorf("%s: %t, want %t", kind, got, want)
		}
		if got := slices.Contains(conditions.TypesOf(conditions.WithReady(kind)), conditions.TypeReady); got != want {
			t.Errorf("%s has the type Ready: %t, want %t", kind, got, want)
		}
	}
}
