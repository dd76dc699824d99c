// Package evidence collects why a resource is in its state, in one [Report], from one of two sources.
//
// The status API has the most detail: which observer each condition is based on, and what it observed of each
// workload. If the API is unreachable, [FromCluster] reads the cluster itself: the conditions and who wrote them, the
// workloads that the resource owns, their pods and the events. The report names its source and what could not be
// read.
package evidence
