// Package command holds the shared parts of the commands for operators: their
// connections ([Env]), their kinds and namespaces ([Scope]), their output
// ([Output]), and the error for incomplete work ([IncompleteError]).
//
// The commands themselves are packages verify, backfill, purge, restore, accept and
// removefinalizers.
// Each has a Command struct with AddFlags and Run. A command prints its result to the
// given writer and logs its progress. It returns nil when no work is left; every error
// is one line for users.
package command
