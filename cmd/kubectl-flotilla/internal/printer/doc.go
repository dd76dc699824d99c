// Package printer formats the output of the commands: tables and trees for users, JSON and YAML for programs.
//
// Text that comes from the cluster is escaped, so that a message cannot command the terminal, and stays on one line in
// tables. Ages are computed from a time that the caller passes in.
package printer
