package checkpoint

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Name is the ConfigMap that holds the cluster's copy.
const Name = "ingester-checkpoint"

const numberKey = "number"

// ConfigMap returns the ConfigMap without its content, in the namespace of the service. Events refer to it.
func ConfigMap(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name}}
}

// Cluster reads and writes the copy in the cluster. It is not safe for concurrent use.
type Cluster struct {
	// APIReader reads from the API server, without a cache.
	APIReader client.Reader
	Writer    client.Writer
	// Namespace of the service; without one (no leader election, outside a pod) there is no copy.
	Namespace string

	last *corev1.ConfigMap // last written; nil means that it must be read first
}

// Read returns the number, or 0 without a ConfigMap: nothing was evicted.
func (c *Cluster) Read(ctx context.Context) (int64, error) {
	number, _, err := c.get(ctx)
	return number, err
}

func (c *Cluster) get(ctx context.Context) (number int64, existing *corev1.ConfigMap, err error) {
	if c.Namespace == "" {
		return 0, nil, nil
	}
	var m corev1.ConfigMap
	err = c.APIReader.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: Name}, &m)
	if apierrors.IsNotFound(err) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, fmt.Errorf("get ConfigMap %s/%s: %w", c.Namespace, Name, err)
	}
	number, err = numberOf(&m)
	return number, &m, err
}

func numberOf(m *corev1.ConfigMap) (int64, error) {
	number, err := strconv.ParseInt(m.Data[numberKey], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("ConfigMap %s/%s: data.%s must be a number, got %q", m.Namespace, m.Name, numberKey, m.Data[numberKey])
	}
	return number, nil
}

// Raise writes the number, unless the ConfigMap has a higher one. A concurrent write by
// another client is a conflict.
func (c *Cluster) Raise(ctx context.Context, number int64) error {
	if c.Namespace == "" {
		return nil
	}
	m := c.last
	c.last = nil
	if m == nil {
		previous, existing, err := c.get(ctx)
		if err != nil || previous >= number {
			return err
		}
		m = existing
	}
	if m == nil {
		m = ConfigMap(c.Namespace)
		m.Data = map[string]string{numberKey: strconv.FormatInt(number, 10)}
		if err := c.Writer.Create(ctx, m); err != nil {
			return fmt.Errorf("create ConfigMap %s/%s: %w", c.Namespace, Name, err)
		}
		c.last = m
		return nil
	}
	m.Data = map[string]string{numberKey: strconv.FormatInt(number, 10)}
	if err := c.Writer.Update(ctx, m); err != nil {
		return fmt.Errorf("update ConfigMap %s/%s: %w", c.Namespace, Name, err)
	}
	c.last = m
	return nil
}
