//go:build long

package faults

import "time"

// What is simulated: schedules of faults, and time with an observer that crashes now and then.
const (
	runs = 10_000
	soak = 24 * time.Hour
)
