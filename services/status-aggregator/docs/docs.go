// Package docs embeds the documents that the status aggregator serves.
package docs

import _ "embed" // the document

// OpenAPI is the OpenAPI 3 document of the HTTP API, as YAML.
//
//go:embed openapi.yaml
var OpenAPI []byte
