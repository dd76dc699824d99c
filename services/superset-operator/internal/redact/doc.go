// Package redact removes secrets from the log lines of a failed task, so that a
// status can hold them, which more people may read than the logs.
//
// It matches the places where secrets occur, not what they look like: passwords in
// URIs, Authorization headers, bearer tokens, values whose key indicates a secret, as
// programs, shells, JSON and Python print them, and rows of tables, which a failed
// migration prints with all their values. If unsure it removes too much. All places
// are found in the original text and redacted before anything is cut off: a secret
// whose key was cut off would not be recognized.
package redact
