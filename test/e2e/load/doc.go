// Package load sends requests to a URL continuously and counts every answer. It counts by phase, so a scenario can
// attribute each failed answer to one of its steps. It prevents the implicit retries of Go's HTTP client: a retry that is
// not counted would hide a failed answer.
package load
