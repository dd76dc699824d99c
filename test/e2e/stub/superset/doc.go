// Package superset contains the stub of Apache Superset, which is written in Python, and its tests. The tests run the
// files that the Superset operator renders, in the file system and as the user of the stub's image, on real databases.
package superset
