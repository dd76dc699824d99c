// Package render turns resolved workloads into Kubernetes objects and into the
// text that runs inside them: superset_config.py ([pyconfig.Config]) and the shell
// around commands.
//
// It is pure and deterministic; golden files under testdata pin its output, since
// a change of a pod template restarts every installation. Text that comes from a
// user reaches Python and the shell only quoted ([pyconfig.Quote], [shellQuote]) or by
// environment variable, except for the fields that are raw Python or shell by
// definition (config, bootstrapScript).
//
// Secrets never enter a ConfigMap: superset_config.py reads them from the
// environment.
package render
