// Package storage defines the durable store of Michelangelo objects for the programs that read or
// write it: the ingester itself, and API servers that read from it.
//
// Package mysql implements it. Objects are runtime.Objects of a registered kind;
// unstructured ones and typed ones with the same JSON form are both accepted.
//
// Source: reference section 3 (MetadataStorage). Indexed columns are not passed in:
// they follow from the kind's description.
package storage
