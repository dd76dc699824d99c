// Package workload translates Kubernetes workloads into the observations of the
// bus contract: [Deployment] and [StatefulSet] into units, [Job] into tasks, pods
// into [Failures].
//
// It is pure: no client, no clock of its own; what it says depends on its arguments
// only, and not on the order of pods.
//
// Every class of failure is told from the objects themselves, without events. Where
// Kubernetes says something in an event only, what follows from it is looked for: a
// failed probe leaves a running container that is not ready though it was, or though
// its probes have had their time ([ProbesDue]); a node that is no longer heard takes
// Ready from its pods, and leaves their containers ready.
//
// A workload has been observed when its controller has seen the generation that
// the caller's last apply returned. Before that its counts are about an older spec,
// and readers treat them so.
package workload
