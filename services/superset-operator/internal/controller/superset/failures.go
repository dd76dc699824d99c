package superset

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
)

// unrelated returns a step whose failure does not stop the following steps.
func unrelated(name string, run func(context.Context, *pass) (steps.Result, error)) steps.Step[pass] {
	return steps.Step[pass]{Name: name, Run: func(ctx context.Context, p *pass) (steps.Result, error) {
		result, err := run(ctx, p)
		return result, p.tolerate(name, err)
	}}
}

// tolerate records the error of a part that no other part depends on, so that one object that cannot be written does
// not block the others. It returns a stale cache error, after which nothing may be written.
func (p *pass) tolerate(part string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", part, err)
	if isStale(err) {
		return err
	}
	p.failures = append(p.failures, err)
	return nil
}

// failure returns the joined error of a reconcile that ended with err. Failed writes to a terminating namespace are
// not errors.
func (p *pass) failure(err error) error {
	all := p.failures
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
