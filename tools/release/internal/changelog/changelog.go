// Package changelog reads and cuts files in the format of Keep a Changelog:
//
//	## [Unreleased]
//	## [1.2.0] - 2026-11-22
//
// Versions are written without the v. A deliberate change of the user's workloads has a heading of its own ("###
// Restarts pods", see docs/releasing.md).
package changelog

import (
	"errors"
	"fmt"
	"strings"
)

const unreleased = "## [Unreleased]"

// Section returns the text under the heading of a version such as v1.2.0, or of "Unreleased", without the heading and
// without blank lines around it.
func Section(text, version string) (body string, found bool) {
	heading := "## [" + strings.TrimPrefix(version, "v") + "]"
	var lines []string
	for line := range strings.Lines(text) {
		switch {
		case found && strings.HasPrefix(line, "## "):
			return strings.TrimSpace(strings.Join(lines, "")), true
		case found:
			lines = append(lines, line)
		case strings.HasPrefix(line, heading):
			found = true
		}
	}
	return strings.TrimSpace(strings.Join(lines, "")), found
}

// Cut gives what is unreleased the version and the date (2026-11-22), and leaves an empty Unreleased above it.
func Cut(text, version, date string) (string, error) {
	body, found := Section(text, "Unreleased")
	if !found {
		return "", fmt.Errorf("there is no heading %q", unreleased)
	}
	if body == "" {
		return "", errors.New("section Unreleased is empty")
	}
	if _, exists := Section(text, version); exists {
		return "", fmt.Errorf("there is a section of %s already", version)
	}
	heading := fmt.Sprintf("## [%s] - %s", strings.TrimPrefix(version, "v"), date)
	return strings.Replace(text, unreleased, unreleased+"\n\n"+heading, 1), nil
}
