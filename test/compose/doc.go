// Package compose holds the tests of docker-compose.yaml, of the images and of `make kind-up`. The images are built
// without a registry, Docker is the one of this machine or the one that hack/docker starts, and the local control plane
// replaces a kind cluster: docs/unverified.md lists what a real kind and a registry would add.
package compose
