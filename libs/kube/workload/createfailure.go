package workload

import "regexp"

var (
	// createPrefix is the prefix that controllers add to the API server's error.
	createPrefix = regexp.MustCompile(`^(?i)(Error creating|create Pod \S+ in \S+ \S+ failed error): `)
	// createdPod matches the name of the pod in the error, which differs between attempts.
	createdPod = regexp.MustCompile(`(?i:pods?) "[^"]*" is (forbidden|invalid): `)
)

// CreateFailure returns the API server's error for the creation of a pod, from the message
// of an event or a condition, without the parts that differ between attempts.
func CreateFailure(message string) string {
	return clean(createdPod.ReplaceAllString(createPrefix.ReplaceAllString(message, ""), "$1: "))
}
