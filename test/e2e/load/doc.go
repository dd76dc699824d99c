// Package load asks a URL without a pause and counts every answer. What it knows is kept by phase, so that a scenario
// can tell which of its steps cost an answer. It talks HTTP itself where that matters: no answer is hidden by a retry
// that is not counted.
package load
