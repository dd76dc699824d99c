// Package conditions computes the status conditions of ADR027 from the observation of an
// object: Available, Progressing, Degraded, Upgradable, Paused and Stopped, and
// optionally the summary Ready.
//
// [Compute] is the entry point. It is a pure function of the observation, the current
// object, the freshness of the observation, the conditions and the state that the
// previous call returned, and the time. It is total (each input gives a status for each
// type), deterministic, and independent of the order of units, jobs and dependencies.
// The status aggregator and a standalone operator get the same result.
//
// The rules of each type are a list in which the first match wins; see rules.go.
// Degraded is damped: a finding becomes the published status only after a hold-down
// ([MissingReplicasHold], [RecoveryHold]). A flapping failure fills the same hold-down
// step by step, and while Degraded is True its reason is Flapping until the failure is
// continuous or stays cleared ([FlapWindow]). [Result.Next] is the exact time at which
// the result may change although no input does, so callers set one timer and never poll.
//
// The writer of an object may change at any time. The next writer does not need the state
// of the previous one: it restores missing state from the object's conditions, and ignores
// a [State] that is older than them.
//
// Reasons come from the closed list [Reasons]; README.md describes each of them.
package conditions
