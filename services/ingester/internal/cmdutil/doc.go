// Package cmdutil is what the commands for operators share: what they work with
// ([Env]), which kinds and namespaces they work on ([Scope]), how they print
// ([Output]), and how they say that something is left to do ([Left]).
//
// The commands themselves are packages verify, backfill, purge, restore and removefinalizers.
// Each has an Options struct with AddFlags and Run. A command prints its result to
// the writer it is given; progress goes to the log. It returns nil when nothing is
// left to do; every error is one line for a person.
package cmdutil
