// Package metrics exports metrics of Supersets: how many are in which phase, how
// their tasks end and how long that takes, drains and approvals.
//
// [Observe] takes the status before and after one write and records the difference, so that every count has exactly
// one cause in the API server: a failed write, a write without a change and a restart of the operator do not count.
// The current state, such as the phases, is read from the cache at each scrape ([Register]), so a deleted Superset
// leaves no series behind.
//
// No label holds the name of an object. docs/metrics.md describes every metric.
package metrics
