package accounts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const admin = `apiVersion: v1
kind: Config
clusters:
- name: kwok-a
  cluster: {server: "https://127.0.0.1:1", certificate-authority: /ca.crt}
users:
- name: kwok-a
  user: {client-key-data: c2VjcmV0}
contexts: []
`

func TestKubeconfigNamesAccountOnly(t *testing.T) {
	text, err := Kubeconfig([]byte(admin), "flotilla-system", "/token")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "stack",
		"clusters": []any{map[string]any{"name": "stack", "cluster": map[string]any{
			"server": "https://127.0.0.1:1", "certificate-authority": "/ca.crt",
		}}},
		"users": []any{map[string]any{"name": "stack", "user": map[string]any{"tokenFile": "/token"}}},
		"contexts": []any{map[string]any{"name": "stack", "context": map[string]any{
			"cluster": "stack", "user": "stack", "namespace": "flotilla-system",
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestKubeconfigRequiresOneCluster(t *testing.T) {
	for _, text := range []string{"", strings.Replace(admin, "users:", "- name: b\nusers:", 1), "]"} {
		if _, err := Kubeconfig([]byte(text), "flotilla-system", "/token"); err == nil {
			t.Errorf("taken: %q", text)
		}
	}
}
