// Package controlplane builds the programs of a Kubernetes control plane from pinned Go modules and runs clusters
// from them, with nodes and pods that kwok simulates.
//
// The API server, etcd, the controller manager and the scheduler are real. kwok simulates the kubelets, so the pods of a
// Deployment become Ready without an image, a container or a process. Nothing listens on the address of a simulated pod.
//
// Programs: Find looks them up and Build builds them, which takes minutes the first time. Both use one directory
// outside the checkout, named after the contents of tools/controlplane/go.mod and go.sum, so that checkouts share it
// and each version has its own.
//
// Clusters: Tools.Create starts one in about three seconds. It has its own directory and listens on loopback only. Tests
// (package cluster) delete their clusters; the local stack (tools/stack) keeps its cluster between runs.
//
// An annotation can make a pod fail: see FailAnnotation.
package controlplane
