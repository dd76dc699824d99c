package cluster

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
)

const namespaceTimeout = 2 * time.Minute

// Namespace creates a namespace that is named after the test, and returns its name once pods can be created in it.
// At the end of the test it deletes the namespace without waiting for the deletion.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	cl := c.Client(t, scheme.Scheme)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(t.Name())}}
	if err := cl.Create(t.Context(), ns); err != nil {
		t.Fatalf("create namespace %q: %v", ns.Name, err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), namespaceTimeout)
		defer cancel()
		if err := client.IgnoreNotFound(cl.Delete(ctx, ns)); err != nil {
			t.Errorf("delete namespace %q: %v", ns.Name, err)
		}
	})
	if err := waitServiceAccount(t.Context(), cl, ns.Name); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// waitServiceAccount waits for the default service account, without which the API server rejects pods.
func waitServiceAccount(ctx context.Context, cl client.Client, namespace string) error {
	key := client.ObjectKey{Namespace: namespace, Name: "default"}
	err := await.Nil(ctx, namespaceTimeout, 20*time.Millisecond, func(ctx context.Context) error {
		err := cl.Get(ctx, key, &corev1.ServiceAccount{})
		if client.IgnoreNotFound(err) != nil {
			return await.Stop(err)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for the default service account of namespace %q: %w", namespace, err)
	}
	return nil
}

var notDNS = regexp.MustCompile(`[^a-z0-9]+`)

// namespaceName converts a test name to a namespace name; the suffix makes it unique under go test -count.
func namespaceName(test string) string {
	const maxLength = 40
	name := strings.Trim(notDNS.ReplaceAllString(strings.ToLower(strings.TrimPrefix(test, "Test")), "-"), "-")
	if len(name) > maxLength {
		name = strings.Trim(name[:maxLength], "-")
	}
	return strings.Trim(name+"-"+randomSuffix(), "-")
}
