//go:build !long

package faults

import "time"

// Size of the short run; see runs_long_test.go for the full one.
const (
	runs = 100
	soak = 4 * time.Hour
)
