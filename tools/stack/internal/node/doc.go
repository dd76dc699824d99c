// Package node runs a Kubernetes cluster with one real node and no other: kubelet, containerd, kube-proxy, cluster
// DNS and volumes, and the control plane, on one machine, as root.
//
// It runs in a sandbox (package sandbox): namespaces of its own for processes, mounts and the network. So it does not
// change the machine, and everything that it creates disappears with its first process, however that ends. Outside
// the sandbox there are one veth device, which the kernel removes with the sandbox; directories below the stack's
// own; and cgroups, which Remove removes.
//
// The machine and the node are joined by a network of four addresses. The API server, and the NodePorts of Services,
// answer at the node's address, to this machine alone.
package node
