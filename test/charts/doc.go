// Package charts tests deploy/charts with the helm that the control plane tools build: what the
// charts render, what they refuse, what a real API server says to it, and whether a release can
// be installed, upgraded and removed without a trace.
//
// Pods of the tests' control plane are simulated, so a Job there proves nothing: the command
// lines of the charts' Jobs run as processes, with a token of the account that the chart makes.
package charts
