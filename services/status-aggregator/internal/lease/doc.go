// Package lease holds the Lease that permits writing the six conditions.
//
// While the Lease "flotilla-conditions" is held, the operators leave the conditions of their
// objects to the aggregator. It is renewed only while this process is the leader and healthy:
// connected to the bus, caught up with the snapshot, and able to write the bucket. Otherwise renewal and
// writes stop, and after thirty seconds the operators write the conditions themselves
// (architecture D2).
//
// The writer checks [Holder.Held] before each write. It becomes false before the operators'
// thirty seconds have passed, by the monotonic clock and by the wall clock, so that there is never more than one
// writer. A process that was suspended, alone or with its machine, does not hold the Lease, and renews it only after
// leader election would have reported a new leader.
//
// While Held is false, reconciles end without a write and without a requeue. [Holder.Step] therefore reports each such period,
// even one that ends within the step: the report enqueues the objects.
package lease
