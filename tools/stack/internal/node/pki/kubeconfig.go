package pki

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Kubeconfig writes the credentials of an issued certificate to a file, for a cluster at a URL.
func (a *Authority) Kubeconfig(file, server, name string) error {
	var parts []string
	for _, part := range []string{"ca.crt", name + ".crt", name + ".key"} {
		data, err := os.ReadFile(filepath.Join(a.dir, part)) //nolint:gosec // the authority's own folder
		if err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", name, err)
		}
		parts = append(parts, base64.StdEncoding.EncodeToString(data))
	}
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "flotilla",
		"clusters": []any{map[string]any{"name": "flotilla", "cluster": map[string]any{
			"server": server, "certificate-authority-data": parts[0],
		}}},
		"users": []any{map[string]any{"name": name, "user": map[string]any{
			"client-certificate-data": parts[1], "client-key-data": parts[2],
		}}},
		"contexts": []any{map[string]any{"name": "flotilla", "context": map[string]any{"cluster": "flotilla", "user": name}}},
	})
	if err != nil {
		return fmt.Errorf("write the kubeconfig of %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write the kubeconfig of %s: %w", name, err)
	}
	return os.WriteFile(file, data, 0o600)
}
