// Package storage is the durable store of Michelangelo objects, as programs see it
// that read or write it: the ingester itself, and API servers that answer from it.
//
// Package mysql implements it. Objects are runtime.Objects of a registered kind;
// unstructured ones and typed ones with the same JSON form are both taken.
//
// Source: reference section 3 (MetadataStorage). Indexed columns are not passed in:
// they follow from the kind's description.
package storage
