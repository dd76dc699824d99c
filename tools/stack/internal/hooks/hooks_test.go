package hooks_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/hooks"
)

func TestByURLConvertsServiceManifests(t *testing.T) {
	files, err := filepath.Glob("../../../../services/*/config/webhook/manifests.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		manifest, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out, err := hooks.ByURL(manifest, "127.0.0.1:7000")
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var list struct {
			Items []struct {
				Webhooks []struct {
					Name         string
					ClientConfig map[string]any
				}
			}
		}
		if err := json.Unmarshal(out, &list); err != nil {
			t.Fatal(err)
		}
		urls := 0
		for _, item := range list.Items {
			for _, webhook := range item.Webhooks {
				url, _ := webhook.ClientConfig["url"].(string)
				if len(webhook.ClientConfig) != 1 || len(url) <= len("https://127.0.0.1:7000/") {
					t.Errorf("%s: %s: clientConfig %v", file, webhook.Name, webhook.ClientConfig)
				}
				urls++
			}
		}
		if urls == 0 {
			t.Errorf("%s has no webhooks", file)
		}
	}
}

func TestByURLConvertsWebhook(t *testing.T) {
	const manifest = `# a comment
kind: ValidatingWebhookConfiguration
webhooks: [{name: a.b, timeoutSeconds: 10, clientConfig: {service: {namespace: n, name: s, path: /p}}}]
---
# nothing in here
`
	got, err := hooks.ByURL([]byte(manifest), "127.0.0.1:7000")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"apiVersion":"v1","items":[{"kind":"ValidatingWebhookConfiguration","webhooks":` +
		`[{"clientConfig":{"url":"https://127.0.0.1:7000/p"},"name":"a.b","timeoutSeconds":10}]}],"kind":"List"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestByURLRejectsInvalidManifest(t *testing.T) {
	for name, manifest := range map[string]string{
		"another kind":    "kind: Service",
		"no service":      "webhooks: [{name: a, clientConfig: {url: x}}]",
		"no clientConfig": "webhooks: [{name: a}]",
		"no path":         "webhooks: [{name: a, clientConfig: {service: {name: s}}}]",
		"no object":       "webhooks: [a]",
		"no YAML":         "webhooks: [",
	} {
		if out, err := hooks.ByURL([]byte(manifest), "x"); err == nil {
			t.Errorf("%s became %s", name, out)
		}
	}
}
