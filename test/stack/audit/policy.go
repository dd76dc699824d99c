package audit

import (
	"fmt"
	"slices"
	"strings"
)

// Policy returns an audit policy that logs one event without a body for each completed request of these users only.
func Policy(users ...string) string {
	users = slices.Clone(users)
	for i, user := range users {
		users[i] = fmt.Sprintf("%q", user)
	}
	return `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  users: [` + strings.Join(users, ", ") + `]
- level: None
`
}
