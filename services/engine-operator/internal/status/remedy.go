package status

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/apply"
)

// Remedies for a spec that is rejected, and for a name that is taken. The message of a failure that only a user
// can clear ends with one.
const (
	correctEngine   = "Correct the engine or its class."
	correctClass    = "Correct the class."
	correctInstance = "Correct the instance."
	freeName        = "Delete or rename the conflicting object."
)

// remediedLimit leaves room for the prefix that a condition adds, so that no remedy is truncated.
const remediedLimit = contract.MaxTextBytes - 64

// withRemedy appends a remedy to a description, and truncates only the description.
func withRemedy(description, remedy string) string {
	description = strings.TrimSuffix(description, ".") + "."
	return truncate(description, remediedLimit-len(remedy)-1) + " " + remedy
}

func truncate(s string, limit int) string {
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit-3], "") + "..."
	}
	return s
}

// refusal returns the message of an API error about an object, and whether the error is terminal: no retry clears it
// until a user frees the name of the object, or makes a correction.
func refusal(err error, correction string) (message string, terminal bool) {
	switch {
	case errors.Is(err, apply.ErrNotOwned):
		return withRemedy(err.Error(), freeName), true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return withRemedy(err.Error(), correction), true
	}
	return contract.Text(err.Error()), false
}
