// Package snapshot is what the operator sees of one Superset at one moment: the
// objects that belong to it, as the cache has them. It holds no logic, so that the
// pure packages can read it without importing a client.
package snapshot
