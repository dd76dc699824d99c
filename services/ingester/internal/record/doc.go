// Package record turns an object into everything that MySQL keeps of it: the
// protobuf and JSON forms, the indexed values, labels, annotations, version.
//
// Building a record is pure and can fail only because of the object's content; such
// an error is a [wire.FieldError], it names the field, and trying again before the
// object changes is pointless ([Rejected] tells).
package record
