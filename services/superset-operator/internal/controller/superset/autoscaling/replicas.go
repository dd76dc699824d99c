// Package autoscaling leaves spec.replicas of a Deployment to its autoscaler.
package autoscaling

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// replicasManager owns spec.replicas of a Deployment from the moment the operator leaves it to the autoscaler until
// the autoscaler sets it.
const replicasManager = names.FieldManager + "-replicas"

// WithoutReplicas removes spec.replicas from an autoscaled Deployment. The operator sets it where no autoscaler would: on
// a new Deployment, and on one that it scaled to zero.
func WithoutReplicas(c *desired.Component, d, live *appsv1.Deployment) (*appsv1.Deployment, error) {
	if c.HPA == nil || c.Replicas == 0 || live == nil {
		return d, nil
	}
	owned, _, err := replicasOwners(live.ManagedFields)
	if err != nil || owned && snapshot.DesiredReplicas(live) == 0 {
		return d, err
	}
	d = d.DeepCopy()
	d.Spec.Replicas = nil
	return d, nil
}

// ReleaseReplicas transfers spec.replicas to a second field manager, so that the next apply of the operator does not
// remove the field. A field without an owner falls back to its default, one pod. See "Transferring ownership" in the
// documentation of server-side apply. It returns [apply.ErrStale] after a conflict.
func ReleaseReplicas(ctx context.Context, c client.Client, live *appsv1.Deployment) error {
	owned, others, err := replicasOwners(live.ManagedFields)
	if err != nil || !owned || others {
		return err
	}
	config := appsv1apply.Deployment(live.Name, live.Namespace).
		WithUID(live.UID).WithResourceVersion(live.ResourceVersion).
		WithSpec(appsv1apply.DeploymentSpec().WithReplicas(snapshot.DesiredReplicas(live)))
	err = c.Apply(ctx, config, client.FieldOwner(replicasManager), client.ForceOwnership)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return apply.ErrStale
	case err != nil:
		return fmt.Errorf("transfer replicas of deployment %q: %w", live.Name, err)
	}
	return nil
}

// replicasOwners reports whether the operator owns spec.replicas, under its current or a former name, and whether
// another manager does.
func replicasOwners(entries []metav1.ManagedFieldsEntry) (owned, others bool, err error) {
	managers := []string{names.FieldManager, names.FormerManager, names.BeforeFirstApply}
	for i := range entries {
		if entries[i].FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec struct {
				Replicas *struct{} `json:"f:replicas"`
			} `json:"f:spec"`
		}
		if err := json.Unmarshal(entries[i].FieldsV1.GetRawBytes(), &fields); err != nil {
			return false, false, fmt.Errorf("parse fields of manager %q: %w", entries[i].Manager, err)
		}
		if fields.Spec.Replicas == nil {
			continue
		}
		// Autoscalers and kubectl scale use the scale subresource.
		if slices.Contains(managers, entries[i].Manager) && entries[i].Subresource == "" {
			owned = true
		} else {
			others = true
		}
	}
	return owned, others, nil
}
