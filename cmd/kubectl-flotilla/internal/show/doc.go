// Package show writes what the commands have to say: tables and trees for people, JSON and YAML for programs.
//
// Text that comes from the cluster is escaped, so that a message cannot command the terminal, and stays on one line in
// tables. Ages are computed from a time that the caller passes in.
package show
