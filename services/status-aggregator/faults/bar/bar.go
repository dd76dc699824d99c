// Package bar prints the figures of the reliability bars, one line each, for people
// and for scripts that collect them.
package bar

import (
	"fmt"
	"io"
	"sync"
)

var (
	mu      sync.Mutex
	printed = map[string]bool{}
)

// Print writes the figure of a bar, for example
//
//	BAR B7 1.04 s (bar 5)
func Print(w io.Writer, name string, value float64, unit, limit string) error {
	mu.Lock()
	defer mu.Unlock()
	printed[name] = true
	_, err := fmt.Fprintf(w, "BAR %s %v %s (bar %s)\n", name, value, unit, limit)
	return err
}

// Elsewhere writes a line for each bar that this process has printed no figure of.
func Elsewhere(w io.Writer, bars []string, where map[string]string) error {
	mu.Lock()
	defer mu.Unlock()
	for _, name := range bars {
		if printed[name] {
			continue
		}
		if _, err := fmt.Fprintf(w, "BAR %s NOT RUN (%s)\n", name, where[name]); err != nil {
			return err
		}
	}
	return nil
}
