// Package statusevents computes the Kubernetes events of an engine or an instance.
// It is pure: it compares the status before and after one write, so each event
// has exactly one cause in the API server: a failed write, a write without a
// change and a restart of the operator emit no event.
//
// Every change of an engine's phase is one event, whose reason is that of the transition
// in the status and whose message names the rollout that started or ended. A state that
// requires an action of a user (a missed deadline, a rejected template, pods that Kubernetes
// does not create) emits a Warning when it begins. A reason occurs only once per write.
// The package reads only the status, so events never contain data of a Secret.
//
// [Diff] returns the same comparison as data, from which internal/metrics counts.
package statusevents
