// Package object reconciles the conditions of one managed object: from its observation to its
// entry in the bucket, the lifecycle events and the status of the object.
//
// A reconcile runs [Reconciler.steps]. [decide] is a pure function of the inputs that the
// earlier steps collected. It holds, which keeps all conditions unchanged, if the observation
// may be older than the state that another client has already written.
//
// The order of the writes matters: first the entry, which fences and is the outbox of the
// events; then the events; then the status, guarded by the resourceVersion that the decision
// was made from. A failure of any of them restarts the reconcile.
//
// [Queue] debounces the changes of one object: an observation is computed at once, unless the object was reconciled in the last
// 250 ms, and a change that the watch delivers after 250 ms. A change that keeps the statuses and the observed generations of all
// conditions is written at most every 5 s, so that the many events of a rollout cause few writes.
package object
