package contract

import (
	"embed"
	"strings"
)

// schemaBase is the base URL of the published JSON Schemas, for the dataschema attribute.
const schemaBase = "https://flotilla.dev/schemas/"

// Schemas holds one JSON Schema (draft 2020-12) for the data of each event type, as
// schemas/<name>.v1.json, and those of the envelope (event.v1.json) and of a status
// entry (statusentry.v1.json).
//
//go:embed schemas/*.json
var Schemas embed.FS

// schemaFile returns "observation.v1.json" for "dev.flotilla.observation.v1".
func schemaFile(eventType string) string {
	return strings.TrimPrefix(eventType, "dev.flotilla.") + ".json"
}
