// Package cluster gives a test a real Kubernetes control plane: etcd, API server, controller manager, scheduler, and
// nodes whose pods kwok simulates. Deployments, StatefulSets, Jobs, endpoints and garbage collection behave as in any
// cluster, but kwok pulls no images, and no process listens on the address of a pod.
//
// Each test binary has one cluster, which the first Get starts in about three seconds. Tests share the cluster, each in
// its own namespace:
//
//	func TestMain(m *testing.M) {
//		os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../config/crd"}}))
//	}
//
//	func TestSomething(t *testing.T) {
//		c := cluster.Get(t)
//		ns := c.Namespace(t)
//		cl := c.Client(t, scheme)
//		...
//	}
//
// The annotations in package controlplane make pods fail, hang or terminate.
//
// Package watchdog removes the cluster when the test binary exits.
package cluster
