// Package evidence collects why a resource is in its state, in one [Report], from one of two sources.
//
// The status API has the most detail: the observer of each condition, and its observation of each
// workload. If the API is unreachable, [FromCluster] reads the cluster itself: the conditions and their writers, the
// workloads that the resource owns, their pods and the events. The report contains its source and the read
// errors.
package evidence
