package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// serviceSchema returns the shared schema merged with the schema of the service.
func (c chart) serviceSchema() ([]byte, error) {
	return closedSchema(filepath.Join(c.parts, "schema.yaml"), filepath.Join(c.parts, c.service, "schema.yaml"))
}

func (c chart) definitionSchema() ([]byte, error) {
	return closedSchema(filepath.Join(c.parts, "crds.schema.yaml"))
}

func closedSchema(files ...string) ([]byte, error) {
	merged := map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var part map[string]any
		if err := yaml.UnmarshalStrict(text, &part); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		mergeInto(merged, part)
	}
	closeObjects(merged)
	out, err := json.MarshalIndent(merged, "", "  ")
	return append(out, '\n'), err
}

// mergeInto adds missing keys, in objects at every depth.
func mergeInto(into, from map[string]any) {
	for key, value := range from {
		inner, ok := value.(map[string]any)
		known, found := into[key].(map[string]any)
		if ok && found {
			mergeInto(known, inner)
			continue
		}
		into[key] = value
	}
}

// closeObjects sets additionalProperties to false in each object that does not set it, which rejects unknown values.
func closeObjects(schema any) {
	switch node := schema.(type) {
	case []any:
		for _, inner := range node {
			closeObjects(inner)
		}
	case map[string]any:
		if _, declared := node["additionalProperties"]; node["type"] == "object" && !declared {
			node["additionalProperties"] = false
		}
		for _, inner := range node {
			closeObjects(inner)
		}
	}
}
