package components

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/checkout"
)

func TestServiceWithPoliciesHasNoWebhooks(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"hooks/config/webhook", "both/config/webhook", "both/config/admission", "none/config/crd"} {
		dir := filepath.Join(root, "services", filepath.FromSlash(file))
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "manifests.yaml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := &Env{Checkout: checkout.Checkout{Root: root}}
	for service, want := range map[string]struct{ webhooks, policies bool }{
		"hooks": {true, false}, "both": {false, true}, "none": {false, false},
	} {
		if got := env.HasWebhooks(service); got != want.webhooks {
			t.Errorf("%s: webhooks %t", service, got)
		}
		if got := env.HasPolicies(service); got != want.policies {
			t.Errorf("%s: policies %t", service, got)
		}
	}
}
