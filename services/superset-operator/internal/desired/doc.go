// Package desired puts together everything that a Superset should have: for each
// component its objects, for each task its ConfigMap and the checksum for which it
// has to have run.
//
// It is pure. [For] is the entry point. The checksums are chained: a task's
// checksum covers that of the task before it, so when one runs again, so do all
// after it.
package desired
