package incarnation

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/listing"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// ClusterUID returns the identity of the cluster. reader must not be a cache.
func ClusterUID(ctx context.Context, reader client.Reader) (string, error) {
	var system metav1.PartialObjectMetadata
	system.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, &system); err != nil {
		return "", fmt.Errorf("get namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return string(system.GetUID()), nil
}

// ClusterVersion returns the current version of the cluster, from a list of the first kind that the cluster
// serves. reader must not be a cache; namespaces are the namespaces that may be read, none means all.
func ClusterVersion(ctx context.Context, reader client.Reader, kinds *registry.Registry, namespaces []string) (int64, error) {
	options := []client.ListOption{client.Limit(1)}
	if len(namespaces) > 0 {
		options = append(options, client.InNamespace(namespaces[0]))
	}
	var unserved []error
	for _, kind := range kinds.Kinds() {
		// A list without a requested version returns that of the whole cluster.
		list := listing.NewList(kind)
		err := reader.List(ctx, list, options...)
		switch {
		case err == nil:
			version, err := strconv.ParseInt(list.GetResourceVersion(), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("parse resource version of a list: %w", err)
			}
			return version, nil
		case !listing.NotServed(err):
			return 0, fmt.Errorf("list %s: %w", kind.Plural, err)
		}
		unserved = append(unserved, fmt.Errorf("list %s: %w", kind.Plural, err))
	}
	return 0, errors.Join(unserved...)
}

// position returns the identity and the current version of the cluster.
func position(ctx context.Context, reader client.Reader, kinds *registry.Registry, namespaces []string) (c Cluster, err error) {
	if c.UID, err = ClusterUID(ctx, reader); err != nil {
		return c, err
	}
	c.ResourceVersion, err = ClusterVersion(ctx, reader, kinds, namespaces)
	return c, err
}
