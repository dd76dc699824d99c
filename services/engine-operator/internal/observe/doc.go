// Package observe reads the children of an engine from the manager's cache.
//
// An absent object is nil; every other failure is an error, so that a failing API
// server never looks like a cluster in which everything was deleted. Objects of the same
// name with another controller are not returned: package apply rejects writes to them.
package observe
