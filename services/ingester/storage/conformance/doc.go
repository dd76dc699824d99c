// Package conformance is the suite that every implementation of storage.IngesterStorage passes.
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, func(t *testing.T) storage.IngesterStorage { return openOnAnEmptyDatabase(t) })
//	}
//
// Half of the tests are examples of the contract. The other half compares responses with a
// naive evaluation in memory, for random objects and random requests; it evaluates labels
// with labels.Selector of Kubernetes.
package conformance
