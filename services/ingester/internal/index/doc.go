// Package index extracts the values of the indexed columns from an object.
//
// Each value has the Go type of the MySQL driver: string, int64, float64,
// bool, time.Time in UTC, or nil for NULL. The rules:
//
//   - an absent message in the path makes the column NULL, and both columns of
//     a ResourceIdentifier; spec and status themselves are never absent;
//   - an absent plain field is its zero value: "", 0, false, and for an enum the
//     name of its value 0, never NULL;
//   - an absent time is NULL.
//
// A value that does not fit its column is a [wire.FieldError] that names the field.
// No value is truncated: it would match selectors wrongly.
package index
