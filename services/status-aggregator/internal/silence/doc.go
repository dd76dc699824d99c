// Package silence judges whether an observer still speaks.
//
// "I have heard nothing" has three causes: the observer is dead, the bus is
// dead, or we are deaf. Only the first may be said aloud. So a verdict is made
// of positive evidence: we listen (connected, and past the snapshot), the
// observer's time is over since the later of its last sign of life and the
// moment when we began to listen, and a direct look into the stream finds
// nothing that our subscription missed.
//
// After a pause in listening, at a start or after an outage, an observer is
// [Unsure] first: what we remember of it may be older than what it has done
// meanwhile. It counts again once it was heard and has had a moment to send what
// it held back (Settle), longer while its heartbeats say that it still holds
// something back ([Tracker.Holding]).
//
// All times are our own clock's; a producer's clock is never read. [Tracker] is
// plain state that takes the time as an argument; [Watchdog] runs it.
package silence
