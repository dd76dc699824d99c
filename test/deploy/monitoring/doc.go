// Package monitoring tests deploy/prometheus and deploy/grafana: every expression is valid
// PromQL with existing metrics and labels, and each alert fires when it should and not
// before.
//
// The existing metrics are those in docs/metrics.md of the services, which the tests of the
// services compare with the registered metrics, those in the table of the status aggregator,
// and those of the collectors of libs/bus, controller-runtime and the Go client.
package monitoring
