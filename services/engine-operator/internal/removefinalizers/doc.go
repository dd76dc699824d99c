// Package removefinalizers removes the operator's finalizers from every engine, class and instance,
// before the operator is uninstalled or switched off: nothing else would, and the objects
// could never be deleted.
//
// It takes only ours, by a patch that carries the version it was decided from. Objects that
// are being deleted at that moment are gone then; what belongs to them goes by owner
// reference. The credentials of the operator's own databases are detached from their
// instance first, since the volumes stay too. It refuses to work while an operator leads,
// which would put the finalizers on again.
package removefinalizers
