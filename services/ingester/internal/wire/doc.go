// Package wire encodes objects of the API server (JSON maps) as the protobuf bytes of the proto
// column.
//
// There are no generated Go types. For the messages of the kinds the descriptors of the
// registry drive protowire directly, field by field in the order of the numbers,
// map entries in the order of their keys, so equal objects give equal bytes. A
// message of Kubernetes (ObjectMeta, PodTemplateSpec, ...) is converted to its Go
// type and marshaled by that type: byte for byte what Kubernetes itself writes.
// All four fields of a kind (type_meta, metadata, spec, status) are always
// written, even when empty.
//
// The encoder never drops content silently. A JSON key that the message does not have,
// an enum value that does not exist, a number out of range, text that is not UTF-8, two
// members of one oneof: each is a [FieldError] that names the field.
//
// JSON forms, as the CRDs prescribe: lowerCamel names, enums by name, int64 as
// text, bytes in base64, Timestamp in RFC 3339, Duration as "1.5s", Any as
// {"@type": ..., "value": base64}.
package wire
