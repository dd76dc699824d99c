// Package desired computes the desired state of a Superset: for each component and the
// maintenance page the objects, for each task its ConfigMap and the checksum for which it
// must have completed.
//
// It is pure. [For] is the entry point. The checksums are chained: a task's checksum covers that of the task before
// it, so all tasks after one that runs again do so too.
package desired
