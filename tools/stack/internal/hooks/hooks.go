// Package hooks converts the webhook manifests of a service for the local stack, where
// services run outside the cluster: clientConfig has a loopback URL instead of a Service.
package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// ByURL returns the webhook configurations of a manifest as a JSON list for kubectl. Each
// webhook keeps its path and gets a URL with the address. The list has no caBundle, so
// applying it keeps the caBundle that the service has set.
func ByURL(manifest []byte, address string) ([]byte, error) {
	var items []any
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), len(manifest)+1)
	for {
		var object map[string]any
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the webhook manifests: %w", err)
		}
		if len(object) == 0 {
			continue
		}
		if err := redirect(object, address); err != nil {
			return nil, err
		}
		items = append(items, object)
	}
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

func redirect(object map[string]any, address string) error {
	webhooks, ok := object["webhooks"].([]any)
	if !ok {
		return fmt.Errorf("webhook manifests hold a %v, which has no webhooks", object["kind"])
	}
	for _, one := range webhooks {
		webhook, ok := one.(map[string]any)
		if !ok {
			return errors.New("webhook manifests contain a webhook that is not an object")
		}
		config, ok := webhook["clientConfig"].(map[string]any)
		if !ok {
			return fmt.Errorf("webhook %v has no clientConfig", webhook["name"])
		}
		service, ok := config["service"].(map[string]any)
		if !ok {
			return fmt.Errorf("webhook %v is not called by a Service", webhook["name"])
		}
		path, ok := service["path"].(string)
		if !ok {
			return fmt.Errorf("webhook %v has no path", webhook["name"])
		}
		webhook["clientConfig"] = map[string]any{"url": "https://" + address + path}
	}
	return nil
}
