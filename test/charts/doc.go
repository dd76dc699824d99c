// Package charts tests deploy/charts with the helm of the control plane tools: the rendered
// objects, the rejected values, the acceptance by a real API server, and the installation,
// upgrade and complete removal of a release.
//
// Since the control plane simulates pods, its Jobs do not run programs. The tests run the
// command lines of the charts' Jobs as processes, with a token of the chart's service account.
package charts
