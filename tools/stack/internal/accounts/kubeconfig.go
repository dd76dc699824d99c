package accounts

import (
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Kubeconfig returns an administrator's kubeconfig with a service account in the administrator's place. The token is
// read from its file, and read again there while a client runs, so a new token needs no restart.
func Kubeconfig(admin []byte, namespace, tokenFile string) ([]byte, error) {
	var config struct {
		Clusters []struct {
			Name    string         `json:"name"`
			Cluster map[string]any `json:"cluster"`
		} `json:"clusters"`
	}
	if err := yaml.Unmarshal(admin, &config); err != nil {
		return nil, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	if len(config.Clusters) != 1 {
		return nil, errors.New("read the administrator's kubeconfig: it names not one cluster")
	}
	const name = "stack"
	return yaml.Marshal(map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": name,
		"clusters":        []any{map[string]any{"name": name, "cluster": config.Clusters[0].Cluster}},
		"users":           []any{map[string]any{"name": name, "user": map[string]any{"tokenFile": tokenFile}}},
		"contexts": []any{map[string]any{"name": name, "context": map[string]any{
			"cluster": name, "user": name, "namespace": namespace,
		}}},
	})
}
