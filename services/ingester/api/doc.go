// Package api holds the names that clusters, manifests and other programs share
// with the ingester: the group and version of the Michelangelo kinds, the
// finalizer that keeps an object until it is stored in MySQL, and the annotations
// that request deletion and eviction.
//
// It imports nothing, so that any program can depend on it. The kinds
// themselves have no Go types: the .proto files of the ingester describe them, and
// their CRDs are generated from these files.
//
// Source: specification 003, sections "Finalizer Implementation" and "Immutable Objects".
package api
