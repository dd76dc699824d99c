// Package observe translates Kubernetes workloads into the observations of the
// bus contract. It is pure: no client, no clock; what it says depends on its
// arguments only.
package observe
