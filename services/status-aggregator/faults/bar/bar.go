// Package bar prints the results of the reliability bars, one line each, for users
// and scripts.
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

// Print writes the result of a bar, for example
//
//	BAR B7 1.04 s (bar 5)
func Print(w io.Writer, name string, value float64, unit, limit string) error {
	mu.Lock()
	defer mu.Unlock()
	printed[name] = true
	_, err := fmt.Fprintf(w, "BAR %s %v %s (bar %s)\n", name, value, unit, limit)
	return err
}

// PrintMissing writes a line for each bar without a result in this process.
func PrintMissing(w io.Writer, bars []string, commands map[string]string) error {
	mu.Lock()
	defer mu.Unlock()
	for _, name := range bars {
		if printed[name] {
			continue
		}
		if _, err := fmt.Fprintf(w, "BAR %s NOT RUN (%s)\n", name, commands[name]); err != nil {
			return err
		}
	}
	return nil
}
