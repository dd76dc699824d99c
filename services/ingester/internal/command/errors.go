package command

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IncompleteError is the error of a command that ran but did not complete its work. The exit code is not 0.
type IncompleteError string

// Error implements error.
func (e IncompleteError) Error() string { return string(e) }

// Incompletef returns an IncompleteError with a formatted text.
func Incompletef(format string, args ...any) error {
	return IncompleteError(fmt.Sprintf(format, args...))
}

// Explain adds the remedy to an error of the API server.
func Explain(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w (config/rbac/operator_role.yaml grants the required permissions)", err)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%w (check that the CRDs of config/crd are installed)", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w (check the credentials of --kubeconfig)", err)
	}
	return err
}

// Count returns "1 row" or "2 rows".
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
