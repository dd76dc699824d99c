package main

import (
	"maps"
	"math"
	"slices"
)

// Patterns of strings that Go decodes. The pattern of controller-gen and the format of the API server accept more.
const (
	quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,3}))?$`
	dateTimePattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
)

// restrict changes a schema in place so that it accepts only what Go decodes: one object that a client cannot decode ends
// its watch of all objects.
func restrict(schema map[string]any) {
	switch {
	case schema["x-kubernetes-int-or-string"] == true && schema["pattern"] != nil:
		schema["pattern"] = quantityPattern
	case schema["x-kubernetes-int-or-string"] == true:
		schema["minimum"], schema["maximum"] = math.MinInt32, math.MaxInt32
	case schema["format"] == "date-time":
		schema["pattern"] = dateTimePattern
		schema["minItems"], schema["maxItems"] = 1, 0 // the format accepts lists
	}
	for _, child := range children(schema) {
		restrict(child)
	}
}

// keepCreationTimestamp adds the field to the metadata of a template.
func keepCreationTimestamp(metadata map[string]any) {
	if properties, ok := metadata["properties"].(map[string]any); ok {
		properties["creationTimestamp"] = map[string]any{"type": "string", "format": "date-time", "nullable": true}
	}
}

// children returns the schemas of the fields, items and values of a schema.
func children(schema map[string]any) (out []map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if property, ok := properties[name].(map[string]any); ok {
			out = append(out, property)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if child, ok := schema[key].(map[string]any); ok {
			out = append(out, child)
		}
	}
	return out
}
