// Package metrics counts what becomes of engines and instances: phases, rollouts and how
// they end, drains, and generations that never served.
//
// [Engine] and [Instance] take an object before and after one write of its status and
// record the difference ([report.Compare], from which the events are worded too), so every
// number has exactly one cause in the API server: a write that failed, or that changed
// nothing, counts nothing, and neither does a restart of the operator. What is true now is
// read from the cache when Prometheus asks ([Register]), so nothing is left behind by an
// object that is gone.
//
// Gauges carry the object's name, since an alert has to describe which engine it is about.
// Counters and histograms do not, except the errors of drain checks: the number of their
// series does not grow with the number of engines. docs/metrics.md describes every metric.
package metrics
