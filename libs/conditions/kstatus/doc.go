// Package kstatus holds the conditions against the library by which Helm, Flux and
// others judge a resource, sigs.k8s.io/cli-utils/pkg/kstatus. It has tests only, and is
// apart from its parent so that nobody who folds depends on that library.
//
// That library knows metadata.deletionTimestamp, status.observedGeneration and the
// condition Ready; Reconciling and Stalled, which it knows too, are none of ours. Where
// it cannot see what we say stands in README.md of the parent, with the reason.
package kstatus
