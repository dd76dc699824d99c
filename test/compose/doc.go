// Package compose tests docker-compose.yaml, the images and `make kind-up`. The images are built without a registry,
// Docker is that of this machine or of hack/docker, and a local control plane replaces the kind cluster.
// docs/unverified.md lists the cases that require kind and a registry.
package compose
