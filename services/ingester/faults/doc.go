// Package faults runs the ingester's real binary against real servers that fail, under load, and compares the cluster,
// MySQL and the stream of change events afterwards. It holds tests only.
//
// The tests do not rely on the ingester to know what was committed: triggers in the database write each change of a row
// into a table of their own, in the same transaction. So a change without an event, an event without a change, a second
// copy and a wrong order are all detected.
//
// The ordinary run is small. `go test -tags long` has thousands of operations on MySQL and on MariaDB, and more faults.
package faults
