// Package removefinalizers takes the ingester's finalizer off every object, before the
// ingester is uninstalled or switched off: nobody else would, and the objects could
// never be deleted.
//
// It takes only ours, by a patch that carries the version it was decided from. Rows of
// objects that are being deleted at that moment are closed first when MySQL answers;
// without it the command says how many rows stay live. It refuses to work while an
// ingester leads, which would put the finalizers on again.
package removefinalizers
