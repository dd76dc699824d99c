// Package liveness computes whether an observer is alive.
//
// A missing heartbeat has three possible causes: the observer is down, the bus is down, or
// this process is disconnected. Only the first may be reported. An observer is therefore
// [Stale] only on positive evidence: this process is connected and past the snapshot, the
// validity has passed since the observer was last seen or, if later, since the connection
// began, and a probe of the stream finds no heartbeat that the subscription missed.
//
// After an interruption, at a start or after an outage, an observer is first [Unconfirmed]:
// retained observations may be older than the state that it has written since. It is
// [Alive] once it was seen and has had time to send its pending observations (settle), or longer
// while its heartbeats report that some are still pending ([Tracker.RecordPending]).
//
// All times are those of the local clock; a producer's clock is never read. [Tracker] is
// a state machine that gets the time as an argument; [Watchdog] runs it.
package liveness
