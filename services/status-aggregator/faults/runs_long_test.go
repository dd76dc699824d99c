//go:build long

package faults

import "time"

// Schedules of faults, and time with an observer that crashes at intervals.
const (
	runs = 10_000
	soak = 24 * time.Hour
)
