package superset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// reconcileUntil calls Reconcile until the check succeeds or Reconcile returns the given error.
func (e *env) reconcileUntil(sup *v1alpha1.Superset, wantErr error, check func(*v1alpha1.Superset) error) {
	e.t.Helper()
	expect.Eventually(e.t, timeout, func() error {
		_, err := e.reconciler.Reconcile(e.t.Context(), request(sup))
		if err != nil {
			if wantErr != nil && errors.Is(err, wantErr) {
				return nil
			}
			return err
		}
		if err := e.refresh(sup); err != nil {
			return err
		}
		return check(sup)
	})
}

// refresh reads the Superset from the API server, unless the operator's cache has the same version: most polls find no other.
func (e *env) refresh(sup *v1alpha1.Superset) error {
	cached, key := &v1alpha1.Superset{}, client.ObjectKeyFromObject(sup)
	if err := e.manager.GetCache().Get(e.t.Context(), key, cached); err == nil && cached.ResourceVersion == sup.ResourceVersion {
		return nil
	}
	return e.client.Get(e.t.Context(), key, sup)
}

// waitIdle waits until reconciles send no more requests.
func (e *env) waitIdle(sup *v1alpha1.Superset) {
	e.t.Helper()
	waitStable(e.t, func() error {
		before := len(e.requests.list())
		if _, err := e.reconciler.Reconcile(e.t.Context(), request(sup)); err != nil {
			return err
		}
		if after := e.requests.list(); len(after) > before {
			return fmt.Errorf("requests %v", after[before:])
		}
		return nil
	})
}

// waitStable waits until a check has succeeded for some time without interruption, since a change reaches the operator
// in several events.
func waitStable(t testing.TB, check func() error) {
	t.Helper()
	const required = 12
	successes := 0
	expect.Eventually(t, timeout, func() error {
		if err := check(); err != nil {
			successes = 0
			return err
		}
		if successes++; successes < required {
			return errors.New("not yet steady for long enough")
		}
		return nil
	})
}

// waitFor waits until the check of the Superset's status succeeds.
func (e *env) waitFor(sup *v1alpha1.Superset, check func(*v1alpha1.Superset) error) {
	e.t.Helper()
	expect.Eventually(e.t, timeout, func() error {
		if err := e.refresh(sup); err != nil {
			return err
		}
		return check(sup)
	})
}

func phase(want v1alpha1.Phase) func(*v1alpha1.Superset) error {
	return func(sup *v1alpha1.Superset) error {
		if sup.Status.Phase != want || sup.Status.ObservedGeneration != sup.Generation {
			return fmt.Errorf("phase %q at generation %d of %d: %s", sup.Status.Phase,
				sup.Status.ObservedGeneration, sup.Generation, text(sup))
		}
		return nil
	}
}

// text returns the status in a form for failure messages.
func text(sup *v1alpha1.Superset) string {
	raw, err := json.Marshal(sup.Status)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
