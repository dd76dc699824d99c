package superset

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// tolerate records the error of a part that no other part depends on, so that one object that cannot be written does
// not block the others. It returns a stale cache error, after which nothing may be written.
func (s *reconcileState) tolerate(part string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", part, err)
	if isStale(err) {
		return err
	}
	s.failures = append(s.failures, err)
	return nil
}

// failure returns the joined error of a reconcile that ended with err. Failed writes to a terminating namespace are
// not errors.
func (s *reconcileState) failure(err error) error {
	all := s.failures
	if err != nil {
		all = append(slices.Clone(all), err)
	}
	return join(slices.DeleteFunc(slices.Clone(all), func(err error) bool {
		return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	}))
}

// join joins errors in one line.
func join(list []error) error {
	var out error
	for _, err := range list {
		if out == nil {
			out = err
		} else {
			out = fmt.Errorf("%w; %w", out, err)
		}
	}
	return out
}
