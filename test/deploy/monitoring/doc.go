// Package monitoring tests deploy/prometheus and deploy/grafana: that every expression
// is PromQL over metrics and labels that exist, and that each alert fires when it should
// and not before.
//
// What exists is taken from where it is declared: the pages docs/metrics.md of the
// services, which their own tests hold against what they register, the table of the
// status aggregator, and the collectors of libs/bus, of controller-runtime and of the Go client.
package monitoring
