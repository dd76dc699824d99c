// Package evidence gathers why a resource is as it is, in one [Report], from one of two sources.
//
// The status API knows most: on whose word each condition stands, and what the observer saw of each workload. When it
// cannot be reached, [FromCluster] looks for itself: at the conditions and who wrote them, at the workloads that the
// resource owns, at their pods and at the events. The report says which of the two it is, and what could not be read.
package evidence
