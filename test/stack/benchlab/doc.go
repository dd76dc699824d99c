// Package benchlab measures what an operator costs, on a control plane of its own.
//
// A [Bench] is a program: it prints one figure a line,
//
//	BENCH <name> <value> <unit>
//
// Each of its scenarios starts a control plane with 30 simulated nodes and runs the operator there as a process with the
// identity and the permissions of its service account. What it asks is counted by the API server's audit log (package
// audit), its processor time and memory come from /proc, its reconciles from its metrics. A breakdown of the requests goes
// to stderr. Nothing is left behind, however the program ends, and it shares nothing with a stack that runs beside it.
//
// The programs say what is created, when it has arrived, and how a figure is called; everything else is here.
package benchlab
