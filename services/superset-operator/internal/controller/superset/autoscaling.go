package superset

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

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// replicasManager owns the number of pods of a Deployment from the moment when its autoscaler is to set it until the
// autoscaler does.
const replicasManager = FieldManager + "-replicas"

// autoscaled leaves the number of pods to the autoscaler. The operator sets it where no autoscaler would: on a Deployment
// that is new, and on one that it stopped.
func autoscaled(c *desired.Component, d, live *appsv1.Deployment) (*appsv1.Deployment, error) {
	if c.HPA == nil || c.Replicas == 0 || live == nil {
		return d, nil
	}
	ours, _, err := replicasOwners(live.ManagedFields)
	if err != nil || ours && snapshot.Asked(live) == 0 {
		return d, err
	}
	d = d.DeepCopy()
	d.Spec.Replicas = nil
	return d, nil
}

// releaseReplicas gives the number of pods to a manager that no apply of the operator takes it from: a field that is
// applied no more and that nobody else owns falls back to its default, which is one pod. See "Transferring ownership" in
// the documentation of server-side apply.
func (r *Reconciler) releaseReplicas(ctx context.Context, live *appsv1.Deployment) error {
	ours, others, err := replicasOwners(live.ManagedFields)
	if err != nil || !ours || others {
		return err
	}
	config := appsv1apply.Deployment(live.Name, live.Namespace).
		WithUID(live.UID).WithResourceVersion(live.ResourceVersion).
		WithSpec(appsv1apply.DeploymentSpec().WithReplicas(snapshot.Asked(live)))
	err = r.client.Apply(ctx, config, client.FieldOwner(replicasManager), client.ForceOwnership)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errStale
	case err != nil:
		return fmt.Errorf("release the replicas of %q: %w", live.Name, err)
	}
	return nil
}

// replicasOwners says whether the operator, under any name it has had, and whether anybody else owns spec.replicas.
func replicasOwners(entries []metav1.ManagedFieldsEntry) (ours, others bool, err error) {
	own := []string{FieldManager, formerManager, beforeFirstApply}
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
			return false, false, fmt.Errorf("read the fields of manager %q: %w", entries[i].Manager, err)
		}
		if fields.Spec.Replicas == nil {
			continue
		}
		// The scale subresource is that of autoscalers and of kubectl scale.
		if slices.Contains(own, entries[i].Manager) && entries[i].Subresource == "" {
			ours = true
		} else {
			others = true
		}
	}
	return ours, others, nil
}
