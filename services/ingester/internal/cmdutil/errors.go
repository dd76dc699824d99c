package cmdutil

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Left is the error of a command that did its work but left something to do. The exit code is not 0.
type Left string

// Error implements error.
func (l Left) Error() string { return string(l) }

// Leftf makes a Left.
func Leftf(format string, args ...any) error { return Left(fmt.Sprintf(format, args...)) }

// Explain adds the remedy to an error of the API server.
func Explain(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w (config/rbac/operator_role.yaml has the rights that are needed)", err)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%w (does the cluster have the CRDs of config/crd?)", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w (are the credentials of --kubeconfig still valid?)", err)
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
