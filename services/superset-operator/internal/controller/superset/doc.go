// Package superset reconciles Supersets.
//
// [Reconciler.Reconcile] runs a list of named steps on one [reconcileState]. The packages resolve, desired, lifecycle
// and status decide; this package reads, applies and persists. It keeps three invariants:
//
//   - What must not be lost is written first: a decision is persisted before anything acts
//     on it. Everything else of the status is written once, at the end. Every write carries
//     the resourceVersion that the decision was made from, so a stale decision changes
//     nothing.
//   - Objects that match the desired state are not written: a reconcile without changes
//     sends no request.
//   - Every reconcile ends with an observation, also if it failed, is paused, or rejected
//     the spec.
package superset
