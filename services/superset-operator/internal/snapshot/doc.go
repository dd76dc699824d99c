// Package snapshot holds the observed state of one Superset at one time: the objects
// that it owns, from the cache. It has no logic, so that the pure packages can read
// it without importing a client.
package snapshot
