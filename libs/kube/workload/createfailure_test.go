package workload_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/libs/kube/workload"
)

// Each part that differs between attempts would cause a status write per attempt.
func TestCreateFailureIsStableAcrossAttempts(t *testing.T) {
	for message, want := range map[string]string{
		`pods "x-web-server-6b8-abcde" is forbidden: exceeded quota: few`:                             "forbidden: exceeded quota: few",
		`Error creating: pods "x-migrate-b7zkq" is forbidden: exceeded quota: few`:                    "forbidden: exceeded quota: few",
		`Create Pod a-g0-0 in StatefulSet a-g0 failed error: pods "a-g0-0" is forbidden: maximum cpu`: "forbidden: maximum cpu",
		`Error creating: admission webhook "policy.example" denied the request: no`:                   `admission webhook "policy.example" denied the request: no`,
		`Error creating: Pod "x-1" is invalid: spec.containers[0].image: Required`:                    "invalid: spec.containers[0].image: Required",
		"Error creating: two\nlines": "two lines",
	} {
		if got := workload.CreateFailure(message); got != want {
			t.Errorf("%q becomes %q, want %q", message, got, want)
		}
	}
}
