package kinds

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// FieldManager is the field manager of the plugin.
const FieldManager = "kubectl-flotilla"

// Cluster reads and writes the custom resources of one cluster with the caller's permissions.
type Cluster struct {
	// Config holds the caller's credentials.
	Config *rest.Config
	// Namespace is the namespace of the flags or the context.
	Namespace string

	mapper  meta.RESTMapper
	dynamic dynamic.Interface
}

// New reads the kubeconfig. It contacts the API server on the first request only.
func New(getter genericclioptions.RESTClientGetter) (*Cluster, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if err := requireCluster(getter, config); err != nil {
		return nil, err
	}
	namespace, _, err := getter.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the namespace of the context: %w", err)
	}
	mapper, err := getter.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("prepare discovery: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("prepare the client: %w", err)
	}
	return &Cluster{Config: config, Namespace: namespace, mapper: mapper, dynamic: client}, nil
}

// fallback is the server that client-go uses if no cluster is configured.
const fallback = "http://localhost:8080"

// requireCluster returns an error if no kubeconfig names a cluster. Otherwise a command would fail to connect to the fallback.
func requireCluster(getter genericclioptions.RESTClientGetter, config *rest.Config) error {
	loader := getter.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	if len(raw.Clusters) > 0 || config.Host != fallback {
		return nil
	}
	return fmt.Errorf("no cluster is named in %s; set KUBECONFIG or --kubeconfig", strings.Join(loader.ConfigAccess().GetLoadingPrecedence(), ", "))
}

// Get reads one resource of the namespace.
func (c *Cluster) Get(ctx context.Context, t Target) (*unstructured.Unstructured, error) {
	u, err := c.dynamic.Resource(t.Resource).Namespace(c.Namespace).Get(ctx, t.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s: not found in namespace %q: %w", t, c.Namespace, err)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", t, err)
	}
	return u, nil
}

// List reads all resources of a kind in a namespace, in all of them if it is empty.
func (c *Cluster) List(ctx context.Context, m Mapping, namespace string) ([]unstructured.Unstructured, error) {
	list, err := c.dynamic.Resource(m.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", m.Resource.Resource, err)
	}
	return list.Items, nil
}

// Patch writes a JSON merge patch, provided that the object has not changed since it was read.
func (c *Cluster) Patch(
	ctx context.Context, t Target, read *unstructured.Unstructured, patch map[string]any, dryRun bool,
) (*unstructured.Unstructured, error) {
	locked := runtime.DeepCopyJSON(patch)
	metadata, ok := locked["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		locked["metadata"] = metadata
	}
	metadata["uid"], metadata["resourceVersion"] = string(read.GetUID()), read.GetResourceVersion()
	body, err := json.Marshal(locked)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of %s: %w", t, err)
	}
	options := metav1.PatchOptions{FieldManager: FieldManager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	u, err := c.dynamic.Resource(t.Resource).Namespace(read.GetNamespace()).Patch(ctx, t.Name, types.MergePatchType, body, options)
	if err != nil {
		return nil, fmt.Errorf("patch %s: %w", t, err)
	}
	return u, nil
}

// ListWatch returns a ListerWatcher of a kind in a namespace, or of one resource if name is set.
func (c *Cluster) ListWatch(m Mapping, namespace, name string) cache.ListerWatcher {
	narrow := func(o *metav1.ListOptions) {
		if name != "" {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		}
	}
	client := c.dynamic.Resource(m.Resource).Namespace(namespace)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			narrow(&o)
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			narrow(&o)
			return client.Watch(ctx, o)
		},
	}
}
