package app

import (
	"os"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func TestRoleListsAllKinds(t *testing.T) {
	raw, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "resources: [")
	list, _, _ := strings.Cut(rest, "]")
	granted := map[string]bool{}
	for name := range strings.SplitSeq(list, ", ") {
		granted[name] = true
	}
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds.Kinds() {
		if !granted[kind.Plural] {
			t.Errorf("config/rbac/role.yaml does not name %s", kind.Plural)
		}
	}
	if len(granted) != len(kinds.Kinds()) {
		t.Errorf("config/rbac/role.yaml names %d resources, want %d", len(granted), len(kinds.Kinds()))
	}
}
