package removefinalizers_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/removefinalizers"
)

// reattaching is an API server with a controller that has not observed the policy of a StatefulSet yet: it restores the owners of
// a volume claim after their first removal.
type reattaching struct {
	client.Client
	owners   []metav1.OwnerReference
	patches  int
	released bool // the finalizer was removed while the claim had its owners
}

func (r *reattaching) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := r.Client.Patch(ctx, o, patch, opts...); err != nil {
		return err
	}
	var claim corev1.PersistentVolumeClaim
	if err := r.Get(ctx, client.ObjectKey{Namespace: "n", Name: "data-i-metadata-pg-0"}, &claim); err != nil {
		return err
	}
	switch o.GetObjectKind().GroupVersionKind().Kind {
	case "FireboltInstance":
		r.released = r.released || len(claim.OwnerReferences) > 0
	case "PersistentVolumeClaim":
		if r.patches++; r.patches > 1 {
			return nil
		}
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": r.owners}})
		if err != nil {
			return err
		}
		return r.Client.Patch(ctx, &claim, client.RawPatch(types.MergePatchType, text))
	}
	return nil
}

func TestCommandDetachesVolumeAgain(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	instance := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: "i", UID: "instance", Finalizers: []string{v1alpha1.InstanceFinalizer},
	}}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "i-metadata-pg", UID: "set",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(instance, v1alpha1.GroupVersion.WithKind("FireboltInstance"))},
		},
		Spec: appsv1.StatefulSetSpec{PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		}},
	}
	owners := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "data-i-metadata-pg-0", OwnerReferences: owners}}
	c := &reattaching{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(instance, set, claim).Build(), owners: owners}
	if err := (&removefinalizers.Command{}).Run(t.Context(), removefinalizers.Env{Client: c, Clock: clock.RealClock{}, LeaseNamespace: "n"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if c.released || c.patches != 2 {
		t.Errorf("the claim was patched %d times, want 2; the instance was released before: %t", c.patches, c.released)
	}
}
