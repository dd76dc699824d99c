package kinds

import (
	"slices"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// TestManagedIncludesKindsOfNewServices adds a kind to those of the contract, as make new-service does.
func TestManagedIncludesKindsOfNewServices(t *testing.T) {
	all := append(contract.Kinds(), "widget")
	got := managed(all)
	for _, kind := range all {
		if slices.Contains(got, kind) == kind.Stored() {
			t.Errorf("%s: stored is %t, the managed kinds are %v", kind, kind.Stored(), got)
		}
	}
}
