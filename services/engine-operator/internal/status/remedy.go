package status

import "strings"

// Remedies for a spec that is rejected, and for a name that is taken. The message of a failure that only a user
// can clear ends with one.
const (
	correctEngine   = "Correct the engine or its class."
	correctClass    = "Correct the class."
	correctInstance = "Correct the instance."
	freeName        = "Delete or rename the conflicting object."
)

// remediedLimit leaves room for the prefix that a condition adds, so that no remedy is truncated.
const remediedLimit = messageLimit - 64

// withRemedy appends a remedy to a description, and truncates only the description.
func withRemedy(description, remedy string) string {
	description = strings.TrimSuffix(description, ".") + "."
	return truncate(description, remediedLimit-len(remedy)-1) + " " + remedy
}
