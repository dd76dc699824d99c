// Package superset holds the stand-in for Apache Superset, which is written in Python, and its tests: each runs what
// the Superset operator renders, in the file system of the stand-in's image and as its user, on real databases.
package superset
