// Package index takes the values of the indexed columns out of an object.
//
// Each value has the Go type that the MySQL driver wants: string, int64, float64,
// bool, time.Time in UTC, or nil for NULL. The rules:
//
//   - a message on the way that is absent makes the column NULL, and both columns of
//     a ResourceIdentifier; spec and status themselves are never absent;
//   - an absent plain field is its zero value: "", 0, false, and for an enum the
//     name of its value 0, never NULL;
//   - an absent time is NULL.
//
// A value that does not fit its column is a [wire.FieldError] that names the field.
// Nothing is cut off: a shortened value would answer selectors wrongly.
package index
