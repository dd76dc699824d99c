// Package pyconfig renders superset_config.py. It is pure and deterministic; another
// text restarts every installation. Text of a user is quoted ([Quote]) or read from an
// environment variable, except for raw Python.
package pyconfig
