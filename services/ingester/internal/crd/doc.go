// Package crd renders the CustomResourceDefinitions of the registered kinds from
// their protobuf descriptors.
//
// The rules of the structural schema: field names in lowerCamel; int32 as integer,
// int64 as text, enums as text with the full value names, bytes in base64,
// Timestamp and Duration as text, Struct with its unknown fields kept, Any as
// "@type" and base64 "value", maps as additionalProperties. A message that contains
// itself keeps unknown fields where the recursion begins. Unsigned integers cannot be
// expressed and are an error. Comments in the .proto files become descriptions.
//
// Messages of Kubernetes (PodTemplateSpec, LabelSelector, ...) are rendered in full
// from the Go types that encode them, so the API server rejects a misspelled field of
// a pod template as it does in a Pod. Only names and types are validated there.
//
// The result is committed under config/crd; a test compares it with the current
// registry.
package crd
