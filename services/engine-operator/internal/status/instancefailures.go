package status

import (
	"fmt"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// NewApplyFailure returns the failure of a component one of whose objects could not be applied.
func NewApplyFailure(reason string, err error) Failure {
	message, terminal := refusal(err, correctInstance)
	return Failure{Reason: reason, Terminal: terminal, Message: message}
}

// NewRejection returns the failure of a component whose part of the spec is invalid.
func NewRejection(violations string) Failure {
	return Failure{Reason: v1alpha1.ReasonTemplateRejected, Terminal: true, Message: withRemedy(violations, correctInstance)}
}

// NewUnsupported returns the failure of an instance that requires a feature that this release lacks.
func NewUnsupported(violations string) Failure {
	return Failure{Reason: v1alpha1.ReasonNotSupported, Terminal: true, Message: withRemedy(violations, correctInstance)}
}

// NewCredentialsMissing returns the failure of an instance whose database credentials are missing or
// incomplete, as described by missing.
func NewCredentialsMissing(missing string) Failure {
	return Failure{Reason: v1alpha1.ReasonPostgresSecretPreflightFailed, Message: missing}
}

// NewCredentialsLost returns the failure of an instance whose own database exists without its password.
func NewCredentialsLost(secret string) Failure {
	return Failure{
		Reason: v1alpha1.ReasonPostgresCredentialsLost, Terminal: true,
		Message: fmt.Sprintf("Secret %q was deleted but its database exists. Restore the Secret.", secret),
	}
}

// NewIDMismatch returns the failure of an instance whose own database has the data of another id.
func NewIDMismatch(secret, claim, retained, id string) Failure {
	return Failure{
		Reason: v1alpha1.ReasonInstanceIDMismatch, Terminal: true,
		Message: fmt.Sprintf("Secret %q belongs to data of the id %s, but spec.id is %s. "+
			"Recreate the instance with spec.id %s, or delete it, the volume claim %q and the Secret to discard the data.",
			secret, retained, id, retained, claim),
	}
}

// NewDeletionBlocked returns the failure of a deleted instance to which engines, sorted by name, refer.
func NewDeletionBlocked(engines []string) Failure {
	message := fmt.Sprintf("Deletion is blocked: engine %q refers to the instance. Delete the engine.", engines[0])
	if len(engines) > 1 {
		const most = 3
		message = fmt.Sprintf("Deletion is blocked: %d engines refer to the instance, %q among them. Delete the engines.",
			len(engines), engines[:min(most, len(engines))])
	}
	return Failure{Reason: v1alpha1.ReasonDeletionBlocked, Message: message}
}
