// Package docs embeds documents that the status aggregator also serves.
package docs

import _ "embed" // the document

// OpenAPI is the OpenAPI 3 document of the HTTP API, as YAML.
//
//go:embed openapi.yaml
var OpenAPI []byte
