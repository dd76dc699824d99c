// Package redact takes secrets out of the log lines of a failed task, so that they
// can stand in a status, which more people may read than the logs.
//
// It looks for the places where secrets stand, not for what they look like:
// passwords in URIs, Authorization headers, bearer tokens, values whose key sounds
// secret, as programs, shells, JSON and Python print them, and rows of tables, which
// a failed migration prints with whatever they hold. In doubt it takes too much.
// Places are all found in the original text, and redacted before anything
// is cut off: a secret whose key was cut off would not be known as one.
package redact
