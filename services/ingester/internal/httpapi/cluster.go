package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/rejection"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Cluster is the part of the Kubernetes API server that the API uses. Errors are those of the
// Kubernetes API; an object that does not exist is apierrors.IsNotFound.
type Cluster interface {
	// Get returns the current object from the API server.
	Get(ctx context.Context, kind *registry.Kind, namespace, name string) (*unstructured.Unstructured, error)
	// MarkDeleting sets the annotation that makes the ingester delete the object.
	// If another object has the name, or the object has another version than a given one, the error is
	// apierrors.IsConflict. If the API server rejects the annotation because of the object, the error is errRejected.
	MarkDeleting(ctx context.Context, kind *registry.Kind, mark Mark) error
}

// Mark names the object to delete.
type Mark struct {
	Namespace, Name string
	UID             types.UID
	// ResourceVersion is empty if any version may be deleted.
	ResourceVersion string
	// DryRun validates without a change.
	DryRun bool
}

// fieldManager is the field manager of the API.
const fieldManager = "ingester-api"

// liveCluster reads from the API server without a cache.
type liveCluster struct {
	dynamic dynamic.Interface
	// permissions distinguishes a rejected object from a missing permission.
	permissions client.Client
}

// NewCluster returns a Cluster that uses the API server of cfg, which is that of permissions too.
func NewCluster(cfg *rest.Config, permissions client.Client) (Cluster, error) {
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create client of the API server: %w", err)
	}
	return &liveCluster{dynamic: c, permissions: permissions}, nil
}

func (c *liveCluster) of(kind *registry.Kind, namespace string) dynamic.ResourceInterface {
	resource := schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: kind.Plural}
	return c.dynamic.Resource(resource).Namespace(namespace)
}

// Get implements Cluster.
func (c *liveCluster) Get(ctx context.Context, kind *registry.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	return c.of(kind, namespace).Get(ctx, name, metav1.GetOptions{})
}

// MarkDeleting implements Cluster. The uid in the patch is the precondition: the API
// server rejects a change of it.
func (c *liveCluster) MarkDeleting(ctx context.Context, kind *registry.Kind, mark Mark) error {
	metadata := map[string]any{
		"uid":         mark.UID,
		"annotations": map[string]string{api.DeletingAnnotation: api.AnnotationTrue},
	}
	if mark.ResourceVersion != "" {
		metadata["resourceVersion"] = mark.ResourceVersion
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if mark.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err = c.of(kind, mark.Namespace).Patch(ctx, mark.Name, types.MergePatchType, patch, options)
	if changedUID(err) {
		return apierrors.NewConflict(schema.GroupResource{Group: api.Group, Resource: kind.Plural}, mark.Name,
			fmt.Errorf("the object with uid %s no longer exists", mark.UID))
	}
	if c.isRejected(ctx, kind, mark, err) {
		return fmt.Errorf("%w: %w", errRejected, err)
	}
	return err
}

// isRejected reports whether an admission policy, a webhook or the schema rejects the annotation of this object.
func (c *liveCluster) isRejected(ctx context.Context, kind *registry.Kind, mark Mark, err error) bool {
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) {
		return false
	}
	w := rejection.Write{Verb: "patch", Object: kind.Metadata(mark.Namespace, mark.Name)}
	return rejection.IsSpecific(ctx, c.permissions, w, err)
}

// changedUID reports whether the API server rejected the patch because the name now belongs to
// another object.
func changedUID(err error) bool {
	var known apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &known) || known.Status().Details == nil {
		return false
	}
	for _, cause := range known.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}
