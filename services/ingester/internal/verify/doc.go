// Package verify compares the cluster with MySQL, names every difference, and mends
// what can be mended.
//
// [Compare] lists each kind at one resource version, without content, and walks the
// rows. What differs is looked at again for a while before it counts: an ingester that
// runs is always a little behind. A row counts as stale only if it did not even reach
// the version that the object had at the first look.
//
// With Options.Deep it also reads the content: the JSON of a row must equal the
// object, and its protobuf form, indexed columns, labels and annotations must follow
// from its JSON.
//
// Mending stores objects again and closes rows whose object is gone. Rows of evicted
// objects are never touched, and when more rows would be closed than is likely to be
// right, none is.
package verify
