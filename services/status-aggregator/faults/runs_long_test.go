//go:build long

package faults

import "time"

// Number of fault schedules, and duration of the run with a crashing observer.
const (
	runs = 10_000
	soak = 24 * time.Hour
)
