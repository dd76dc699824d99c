// Package faults tries the status aggregator under faults. README.md maps each fault of
// the catalogue to the test that shows what is required, wherever it stands.
//
// The simulation drives the aggregator's own parts (what was heard, who is silent, the
// reconcile of an object, the fold) through randomized schedules of faults: messages
// and acknowledgements get lost, come late, twice or in disorder; the bus goes, comes
// back, or comes back empty; operators and aggregators crash, pause and start anew;
// objects are changed, deleted and made again. Only the clock, the API server and the
// bus are stand-ins, with the guards of the real ones: a resource version or a revision
// that is not the present one is refused. A run is its seed, so each can be repeated:
//
//	go test ./faults -run TestSimulation -seed=4711
//
// Programs and tests print one line for each reliability bar:
//
//	BAR B1 0 violations in 10000 runs (bar 0)
package faults
