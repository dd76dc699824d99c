// Package faults tests the status aggregator under faults. README.md maps each fault of
// the catalog to the test that covers its requirement, in any package.
//
// The simulation drives the aggregator's own parts (model, liveness, the reconcile of an
// object, the computation of conditions) through randomized schedules of faults: messages
// and acknowledgments are lost, delayed, duplicated or reordered; the bus goes down and
// returns, possibly empty; operators and aggregators crash, pause and restart; objects are
// changed, deleted and created again. Only the clock, the API server and the bus are
// fakes, with the checks of the real ones: they reject a resourceVersion or a revision
// that is not the current one. A run is determined by its seed, so each can be repeated:
//
//	go test ./faults -run TestSimulation -seed=4711
//
// Programs and tests print one line for each reliability bar:
//
//	BAR B1 0 violations in 10000 runs (bar 0)
package faults
