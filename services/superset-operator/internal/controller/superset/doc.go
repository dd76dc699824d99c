// Package superset reconciles Supersets.
//
// [Reconciler.Reconcile] runs a list of named steps on one [reconcileState]. The packages resolve, desired, lifecycle
// and status decide; this package reads, applies and persists. It keeps three invariants:
//
//   - A decision is persisted before the reconcile acts on it. All other status fields are written once, at the end.
//     Every write carries the resourceVersion that the decision is based on, so the API server rejects a stale
//     decision.
//   - Objects that match the desired state are not written: a reconcile without changes
//     sends no request.
//   - Every reconcile publishes an observation at its end, also if it fails, is paused, or rejects the spec.
package superset
