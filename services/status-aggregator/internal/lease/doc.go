// Package lease holds the right to write the six conditions.
//
// The Lease "flotilla-conditions" tells the operators that somebody else writes
// the conditions of their objects. It is renewed only while this process is the
// leader and healthy: connected to the bus, past the snapshot, and able to use
// the bucket. Otherwise the renewals stop and nothing more is said: after thirty
// seconds the operators write for themselves (architecture D2).
//
// [Keeper.Held] is what the writer asks before each write. It turns false before
// the operators' thirty seconds are over, by our monotonic clock, so that at no
// time two parties believe that it is their turn. A process that stood still holds
// nothing, and renews only once leader election would have told it that it was replaced.
package lease
