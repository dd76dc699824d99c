//go:build !long

package faults

import "time"

// What the ordinary run simulates; see runs_long_test.go for all of it.
const (
	runs = 100
	soak = 4 * time.Hour
)
