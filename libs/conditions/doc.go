// Package conditions turns what an operator observes of an object into the status
// conditions of ADR027: Available, Progressing, Degraded, Upgradable, Paused and
// Stopped, and on request the summary Ready.
//
// [Fold] is the entry point and a pure function: of the observation, the object as
// it is now, how fresh the observation is, the conditions and the memory that the
// previous call returned, and the time. It is total (every input has an answer, for
// every type), deterministic, and independent of the order of units, jobs and
// dependencies. Whoever calls it, the status aggregator or an operator on its own,
// gets the same answer.
//
// The rules of each type are a list in which the first match wins; see rules.go.
// Degraded is damped: a raw finding becomes the published status only once it has
// lasted ([MissingReplicasHold], [RecoveryHold]). Trouble that comes and goes fills the
// same hold-down bit by bit, and once Degraded is True it is one answer, Flapping,
// until it stays or stays away ([FlapWindow]). [Result.Next] is the exact time at which
// the answer may change although no input does, so callers set one timer and never poll.
//
// The writer of an object may change at any time. The next one needs no memory of the
// former: what it does not know it reads from the object's conditions, and a [Memory]
// that is behind them is not believed.
//
// Reasons come from the closed list [Reasons]; README.md says what each means.
package conditions
