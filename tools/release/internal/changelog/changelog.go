// Package changelog reads and updates files in the format of Keep a Changelog:
//
//	## [Unreleased]
//	## [1.2.0] - 2026-11-22
//
// Versions have no v prefix. An intended change of users' workloads has its own heading ("### Restarts pods", see
// docs/releasing.md).
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

// Cut moves the entries under Unreleased to a section with the version and the date (2026-11-22) and leaves Unreleased
// empty.
func Cut(text, version, date string) (string, error) {
	body, found := Section(text, "Unreleased")
	if !found {
		return "", fmt.Errorf("heading %q not found", unreleased)
	}
	if body == "" {
		return "", errors.New("section Unreleased is empty")
	}
	if _, exists := Section(text, version); exists {
		return "", fmt.Errorf("section of %s already exists", version)
	}
	heading := fmt.Sprintf("## [%s] - %s", strings.TrimPrefix(version, "v"), date)
	return strings.Replace(text, unreleased, unreleased+"\n\n"+heading, 1), nil
}
