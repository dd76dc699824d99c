package incarnation

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Position returns the identity and the current version of the cluster. reader must not be a
// cache; namespaces are the namespaces that may be read, none means all.
func Position(ctx context.Context, reader client.Reader, kinds *registry.Registry, namespaces []string) (Cluster, error) {
	var system metav1.PartialObjectMetadata
	system.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, &system); err != nil {
		return Cluster{}, fmt.Errorf("get namespace %s: %w", metav1.NamespaceSystem, err)
	}
	gvk := kinds.Kinds()[0].GVK()
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	options := []client.ListOption{client.Limit(1)}
	if len(namespaces) > 0 {
		options = append(options, client.InNamespace(namespaces[0]))
	}
	// A list without a requested version returns that of the whole cluster.
	if err := reader.List(ctx, &list, options...); err != nil {
		return Cluster{}, fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	version, err := strconv.ParseInt(list.GetResourceVersion(), 10, 64)
	if err != nil {
		return Cluster{}, fmt.Errorf("parse resource version of a list: %w", err)
	}
	return Cluster{UID: string(system.GetUID()), ResourceVersion: version}, nil
}
