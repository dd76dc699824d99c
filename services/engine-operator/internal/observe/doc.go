// Package observe reads what exists of an engine, from the manager's cache.
//
// An object that is absent is nil; every other failure is an error, so that an API server
// failing never looks like a cluster in which everything was deleted. Objects of the
// same name that another owner controls are not seen: the write layer refuses them.
package observe
