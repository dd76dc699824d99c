// Package cluster gives a test a real Kubernetes control plane: etcd, API server, controller manager, scheduler, and
// nodes whose pods kwok simulates. Deployments, StatefulSets, Jobs, endpoints and garbage collection behave as they do
// in any cluster; no image is pulled and no process listens on a pod's address.
//
// There is one cluster per test binary, started by the first Get, in about three seconds. Tests share it and keep
// apart by namespaces of their own:
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
// Pods are made to fail, hang or end with the annotations in package controlplane.
//
// The cluster never outlives the test binary: see package watchdog.
package cluster
