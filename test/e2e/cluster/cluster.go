// Package cluster accesses the cluster under test with a client, kubectl and helm, and runs load generators in it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// namespaceTimeout limits the deletion of a namespace if the context of the caller has no earlier deadline.
const namespaceTimeout = 10 * time.Minute

// Namespace is the kind of namespaces.
var Namespace = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// Cluster is the cluster under test.
type Cluster struct {
	Client client.WithWatch // uncached

	kubeconfig, kubectl, helm string
	config                    *rest.Config
	http                      *http.Client
}

// Tools are the paths of the programs that scenarios run.
type Tools struct{ Kubectl, Helm string }

// Connect connects to the cluster of a kubeconfig, and returns an error if the API server is not ready.
func Connect(ctx context.Context, kubeconfig string, tools Tools) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	c := &Cluster{kubeconfig: kubeconfig, kubectl: tools.Kubectl, helm: tools.Helm, config: config}
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	if c.Client, err = client.NewWithWatch(config, client.Options{}); err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	ready, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := c.raw(ready, http.MethodGet, "/readyz"); err != nil {
		return nil, fmt.Errorf("the API server of %s is not ready: %w", kubeconfig, err)
	}
	return c, nil
}

// Kubectl runs kubectl with input on its standard input and returns its standard output.
func (c *Cluster) Kubectl(ctx context.Context, input string, args ...string) (string, error) {
	return c.run(ctx, c.kubectl, input, args)
}

// Helm runs helm and returns its standard output.
func (c *Cluster) Helm(ctx context.Context, args ...string) (string, error) {
	return c.run(ctx, c.helm, "", args)
}

func (c *Cluster) run(ctx context.Context, program, input string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, program, append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := proc.Output(cmd)
	if err != nil {
		err = fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return string(out), err
}

// Apply applies manifests in a namespace with kubectl and server-side apply.
func (c *Cluster) Apply(ctx context.Context, namespace, manifests string) error {
	_, err := c.Kubectl(ctx, manifests, "apply", "--server-side", "--force-conflicts", "--field-manager=e2e", "-n", namespace, "-f", "-")
	return err
}

// Get gets an object.
func (c *Cluster) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	one := &unstructured.Unstructured{}
	one.SetGroupVersionKind(gvk)
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, one); err != nil {
		return nil, fmt.Errorf("get %s %s/%s: %w", gvk.Kind, namespace, name, err)
	}
	return one, nil
}

// List lists the objects of a kind in a namespace.
func (c *Cluster) List(
	ctx context.Context, gvk schema.GroupVersionKind, namespace string, options ...client.ListOption,
) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := c.Client.List(ctx, list, append(options, client.InNamespace(namespace))...); err != nil {
		return nil, fmt.Errorf("list %s in %s: %w", gvk.Kind, namespace, err)
	}
	return list.Items, nil
}

// Patch applies a JSON merge patch to an object.
func (c *Cluster) Patch(ctx context.Context, gvk schema.GroupVersionKind, namespace, name, patch string) error {
	one := &unstructured.Unstructured{}
	one.SetGroupVersionKind(gvk)
	one.SetNamespace(namespace)
	one.SetName(name)
	if err := c.Client.Patch(ctx, one, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		return fmt.Errorf("patch %s %s/%s: %w", gvk.Kind, namespace, name, err)
	}
	return nil
}

// MakeNamespace creates a namespace that enforces the restricted pod security standard. It replaces an existing one.
func (c *Cluster) MakeNamespace(ctx context.Context, name string) error {
	if err := c.RemoveNamespace(ctx, name); err != nil {
		return err
	}
	return c.Apply(ctx, "default", fmt.Sprintf(
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q,"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`, name))
}

// RemoveNamespace deletes a namespace and waits until it no longer exists. Kubernetes deletes the pods first, and returns to
// the namespace after half of their longest grace period, up to minutes after the last pod ended. A change of the namespace
// makes it return within seconds.
func (c *Cluster) RemoveNamespace(ctx context.Context, name string) error {
	one := &unstructured.Unstructured{}
	one.SetGroupVersionKind(Namespace)
	one.SetName(name)
	attempts := 0
	err := await.Nil(ctx, namespaceTimeout, 500*time.Millisecond, func(ctx context.Context) error {
		err := c.Client.Delete(ctx, one.DeepCopy())
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case apierrors.IsForbidden(err):
			return await.Stop(err)
		}
		if attempts++; attempts%4 == 0 {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"flotilla.dev/attempts":"%d"}}}`, attempts)
			err = errors.Join(err, client.IgnoreNotFound(c.Client.Patch(ctx, one.DeepCopy(), client.RawPatch(types.MergePatchType, patch))))
		}
		return errors.Join(errors.New("it still exists"), err)
	})
	if err != nil {
		return fmt.Errorf("delete namespace %s: %w", name, errors.Join(err, c.blockingCause(context.WithoutCancel(ctx), name)))
	}
	return nil
}

// blockingCause returns an error with the conditions of a namespace that is still terminating, since they name the cause.
func (c *Cluster) blockingCause(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	one, err := c.Get(ctx, Namespace, "", name)
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(one.Object, "status", "conditions")
	return errors.Join(err, fmt.Errorf("its conditions are %v", conditions))
}

// Pod sends a request to a pod through the proxy of the API server, so the pod network need not be reachable.
func (c *Cluster) Pod(ctx context.Context, method, namespace, pod string, port int, path string) ([]byte, error) {
	return c.raw(ctx, method, fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy%s", namespace, pod, port, path))
}

func (c *Cluster) raw(ctx context.Context, method, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.config.Host, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s: %.300s", method, path, response.Status, text)
	}
	return text, nil
}
