// Package removefinalizers removes the operator's finalizers from every engine, class and instance,
// before the operator is uninstalled or disabled. Otherwise the objects could never be
// deleted.
//
// It removes only ours, by a patch with the version that the decision was based on. This
// completes the deletion of terminating objects; their children are garbage-collected by
// owner reference. The credentials and the volumes of the operator's own databases are detached
// first, since they outlive their instance. It fails while an operator is the leader,
// which would add the finalizers again.
package removefinalizers
