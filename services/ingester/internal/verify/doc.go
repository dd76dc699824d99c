// Package verify compares the cluster with MySQL, reports every difference, and repairs
// those that it can.
//
// [Compare] lists each kind at one resource version, without content, and walks the
// rows. A difference counts only if it persists for a while: a running ingester is
// always a little behind. A row counts as stale only if it has not even reached the
// version that the object had in the first list.
//
// With Options.Deep it also reads the content: the JSON of a row must equal the
// object, and its protobuf form, indexed columns, labels and annotations must follow
// from its JSON.
//
// A repair stores objects again and closes rows whose object no longer exists. Rows of
// evicted objects are never changed, and if the number of rows to close is not
// plausible, none is closed.
package verify
