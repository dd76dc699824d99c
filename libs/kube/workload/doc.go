// Package workload translates Kubernetes workloads into the observations of the
// bus contract: [Deployment] and [StatefulSet] into units, [Job] into tasks, pods
// into [Failures].
//
// It is pure, without clients and clocks: its results depend on its arguments only,
// and not on the order of pods.
//
// It derives every failure class from the objects themselves, without events. Where
// Kubernetes reports a failure in an event only, it detects the consequence: after a
// failed probe a running container is no longer ready, or is not ready after its
// probes' time limit ([ProbesDue]); an unreachable node removes Ready from its pods,
// and leaves their containers ready.
//
// A workload is observed when its controller has seen the generation that the
// caller's last apply returned. Before that its counts belong to an older spec,
// and readers treat them so.
package workload
