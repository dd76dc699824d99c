// Package observe translates Kubernetes workloads into the observations of the
// bus contract: [Deployment] and [StatefulSet] into units, [Job] into tasks, pods
// into [Failures].
//
// It is pure: no client, no clock; what it says depends on its arguments only, and
// not on the order of pods.
//
// A workload has been observed when its controller has seen the generation that
// the caller's last apply returned. Before that its counts are about an older spec,
// and readers treat them so.
package observe
