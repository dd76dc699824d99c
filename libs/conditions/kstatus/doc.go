// Package kstatus compares the conditions with the library that Helm, Flux and others use
// to compute the status of a resource, sigs.k8s.io/cli-utils/pkg/kstatus. It has tests
// only, and is separate from its parent so that importers do not depend on that library.
//
// The library reads metadata.deletionTimestamp, status.observedGeneration and the
// condition Ready; it also reads Reconciling and Stalled, which Flotilla does not set.
// README.md of the parent lists the states in which its result differs, with the reason.
package kstatus
