// Package record builds the record of an object, all content that MySQL stores: the protobuf and
// JSON forms, the indexed values, labels, annotations, version.
//
// Building a record is pure and can fail only because of the object's content; such
// an error is a permanent [wire.FieldError] that names the field; see [Rejected].
package record
