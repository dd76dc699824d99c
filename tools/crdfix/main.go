// Command crdfix post-processes the CustomResourceDefinitions that controller-gen writes:
//
//   - items of status.conditions become atomic, so that each condition has one field manager
//     under server-side apply (controller-gen rejects the marker on metav1.Condition);
//   - the metadata of embedded pod templates may have a creation timestamp, which kubectl create --dry-run writes as null;
//   - values that Go does not decode are rejected;
//   - embedded pod specs do not require containers, so that a template may set only other fields;
//   - descriptions below the second level of an embedded pod template are removed, since
//     client-side kubectl apply rejects a CRD over 256 KiB;
//   - so are those of the Kubernetes types inside Flotilla's own templates (with sidecars and
//     a container) and of autoscaling metrics: a CRD with ten such templates would exceed the
//     size limit of etcd.
//
// Usage: crdfix FILE...
package main

import (
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := fixFile(path); err != nil {
			fmt.Fprintln(os.Stderr, "crdfix:", err)
			os.Exit(1)
		}
	}
}

func fixFile(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	fix(crd)
	out, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, append([]byte("---\n"), out...), 0o644)
}

// fix changes a CRD in place.
func fix(crd map[string]any) {
	versions, _ := nested(crd, "spec", "versions").([]any)
	for _, v := range versions {
		schema, ok := nested(v, "schema", "openAPIV3Schema").(map[string]any)
		if !ok {
			continue
		}
		if items, ok := nested(schema, "properties", "status", "properties", "conditions", "items").(map[string]any); ok {
			items["x-kubernetes-map-type"] = "atomic"
		}
		if spec, ok := nested(schema, "properties", "spec").(map[string]any); ok {
			fixTemplates(spec)
		}
		restrict(schema)
	}
}

// fixTemplates walks a schema and changes every embedded PodTemplateSpec in it.
func fixTemplates(schema map[string]any) {
	if isPodTemplate(schema) {
		if metadata, ok := nested(schema, "properties", "metadata").(map[string]any); ok {
			keepCreationTimestamp(metadata)
		}
		if podSpec, ok := nested(schema, "properties", "spec").(map[string]any); ok {
			dropRequired(podSpec, "containers")
			dropDescriptions(podSpec)
		}
		return
	}
	if isOwnTemplate(schema) {
		shorten(schema)
		return
	}
	for _, child := range children(schema) {
		fixTemplates(child)
	}
}

func isPodTemplate(schema map[string]any) bool {
	return nested(schema, "properties", "metadata") != nil &&
		nested(schema, "properties", "spec", "properties", "containers") != nil
}

// isOwnTemplate reports whether a schema is one of Flotilla's flat pod templates, whose
// fields are Kubernetes types, or the autoscaling settings.
func isOwnTemplate(schema map[string]any) bool {
	return nested(schema, "properties", "sidecars") != nil && nested(schema, "properties", "container") != nil ||
		nested(schema, "properties", "maxReplicas") != nil && nested(schema, "properties", "metrics") != nil
}

// shorten removes descriptions from a schema, except those of its properties and of the
// properties of its container, which is a type of Flotilla too.
func shorten(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		p, ok := property.(map[string]any)
		if !ok {
			continue
		}
		if name == "container" {
			shorten(p)
			continue
		}
		text, has := p["description"]
		dropDescriptions(p)
		if has {
			p["description"] = text
		}
	}
}

func dropRequired(schema map[string]any, name string) {
	required, _ := schema["required"].([]any)
	required = slices.DeleteFunc(required, func(r any) bool { return r == name })
	if len(required) == 0 {
		delete(schema, "required")
		return
	}
	schema["required"] = required
}

func dropDescriptions(node any) {
	switch n := node.(type) {
	case map[string]any:
		if _, isText := n["description"].(string); isText {
			delete(n, "description")
		}
		for _, child := range n {
			dropDescriptions(child)
		}
	case []any:
		for _, child := range n {
			dropDescriptions(child)
		}
	}
}

// nested returns the value at a path of keys in nested maps, or nil if a key is missing.
func nested(node any, keys ...string) any {
	for _, key := range keys {
		m, ok := node.(map[string]any)
		if !ok {
			return nil
		}
		node = m[key]
	}
	return node
}
