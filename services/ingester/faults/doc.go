// Package faults runs the ingester's real binary against real servers that fail, under load, and compares the cluster,
// MySQL and the stream of change events afterwards. It holds tests only.
//
// The tests record committed changes independently of the ingester: triggers in the database write each change of a row
// into a separate table, in the same transaction. So the tests detect a change without an event, an event without a
// change, a duplicate and a wrong order.
//
// The ordinary run is small. `go test -tags long` has thousands of operations on MySQL and on MariaDB, and more faults.
package faults
