// Package api holds the names that clusters, manifests and other programs share
// with the ingester: the group and version of the Michelangelo kinds, the
// finalizer that keeps an object until MySQL has it, and the annotations that
// ask for deletion and eviction.
//
// It imports nothing, so that any program can depend on it. The kinds
// themselves have no Go types: they are described by the .proto files of the
// ingester, and their CRDs are generated from those.
//
// Source: seed 003, sections "Finalizer Implementation" and "Immutable Objects".
package api
