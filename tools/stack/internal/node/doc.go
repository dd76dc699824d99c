// Package node runs a Kubernetes cluster with one real node beside nothing else: kubelet, containerd, kube-proxy,
// cluster DNS and volumes, and the control plane that goes with them, on one machine, as root.
//
// All of it lives in a box (package box): namespaces of its own for processes, mounts and the network. So it meets
// nothing of the machine, and what it makes is gone with its first process, however that ends. Outside the box there
// are one veth device, which the kernel removes with the box; folders below the stack's own; and cgroups, which Remove
// takes away.
//
// The machine and the node are joined by a network of four addresses. The API server, and the NodePorts of Services,
// answer at the node's address, to this machine alone.
package node
