// Package printer formats the output of the commands: tables and trees for users, JSON and YAML for programs.
//
// Text from the cluster is escaped, so that a message cannot control the terminal, and stays on one line in
// tables. Ages are relative to a time that the caller passes.
package printer
