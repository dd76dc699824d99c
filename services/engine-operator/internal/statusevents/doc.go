// Package statusevents words what becomes of an engine or an instance as Kubernetes events.
// It is pure: it compares the status before and after one write, so each event
// has exactly one cause in the API server: a write that failed, or that changed nothing,
// tells nothing, and neither does a restart of the operator.
//
// Every change of an engine's phase is one event, whose reason is that of the transition
// in the status and whose message describes which rollout began or ended with it. What needs
// an action of a user (a deadline that was missed, a template that was refused, pods that
// Kubernetes does not make) is a Warning when it begins. One list never holds a reason
// twice. Nothing but the status is read, so nothing of a Secret can get into an event.
//
// [Diff] is the same comparison as facts, from which internal/metrics counts.
package statusevents
