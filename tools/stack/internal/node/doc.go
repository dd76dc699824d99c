// Package node runs a Kubernetes cluster with a single real node: kubelet, containerd, kube-proxy, cluster DNS and
// volumes, and the control plane, on one machine, as root.
//
// It runs in a sandbox (package sandbox) with its own process, mount and network namespaces. So it does not change the
// machine, and the kernel removes its resources when the first process of the sandbox exits. Outside the sandbox it has
// one veth device, which the kernel removes with the sandbox; directories below that of the stack; and cgroups, which
// Remove removes.
//
// A /30 network connects the machine and the node. The API server, and the NodePorts of Services, answer at the node's
// address, which only this machine can reach.
package node
