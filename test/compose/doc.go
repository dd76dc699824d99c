// Package compose holds the tests of docker-compose.yaml, of the images and of `make kind-up`. The images are built
// without a registry, Docker is the one of this machine or the one that hack/docker starts, and the local control plane
// stands in for a kind cluster: what a real kind and a registry would add stands in docs/unverified.md.
package compose
