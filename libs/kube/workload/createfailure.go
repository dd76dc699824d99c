package workload

import "regexp"

var (
	// createPrefix is what controllers put before the API server's answer.
	createPrefix = regexp.MustCompile(`^(?i)(Error creating|create Pod \S+ in \S+ \S+ failed error): `)
	// createdPod names the pod that was to be created, with a name that the next attempt does not have.
	createdPod = regexp.MustCompile(`(?i:pods?) "[^"]*" is (forbidden|invalid): `)
)

// CreateFailure is the API server's answer to the creation of a pod, as controllers tell
// it in events and conditions, without what differs from one attempt to the next.
func CreateFailure(message string) string {
	return clean(createdPod.ReplaceAllString(createPrefix.ReplaceAllString(message, ""), "$1: "))
}
