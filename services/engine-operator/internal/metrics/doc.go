// Package metrics counts the changes of engines and instances: phases, rollouts and
// drains by outcome, and generations that never served.
//
// [Engine] and [Instance] take an object before and after one write of its status and
// record the difference ([statusevents.Diff], from which the events are computed too), so every
// count corresponds to one write of the API server: a failed write, a write
// without a change and a restart of the operator count nothing. Gauges are computed from the
// cache at each scrape ([Register]), so a deleted object leaves no series behind.
//
// Gauges carry the object's name, since an alert must name its engine.
// Counters and histograms do not, except the errors of drain checks: the number of their
// series does not grow with the number of engines. docs/metrics.md describes every metric.
package metrics
