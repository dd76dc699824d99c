package charts

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// TestShardsDivideNamespaces installs three releases of a chart, each for the namespaces with a label of its own. One is
// killed: the others continue, and get its namespace by its label.
func TestShardsDivideNamespaces(t *testing.T) {
	for _, service := range []string{"superset-operator", "engine-operator"} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			newEnv(t, service).withCRDs()
			a, b, c := newShard(t, service), newShard(t, service), newShard(t, service)
			for _, shard := range []*release{a, b, c} {
				shard.serves("first")
			}

			b.s.kill()
			orphan := b.object("orphan")
			b.create(orphan)
			a.serves("second")
			c.serves("second")
			b.remainsUnseen(orphan)
			b.assign(c)
			b.sees(orphan)
			c.serves("third")

			b.s = b.start(b.kubeconfig(service), documents(t, b.helm("get", "manifest", service)))
			b.s.probes(true)
			b.s.waitForLog("No namespace matches, waiting", b.namespace)
			b.assign(b)
			b.waitForLeader()
			b.serves("fourth")
			c.restarted(2)

			b.s.stop()
			orphan = b.object("second-orphan")
			b.create(orphan)
			c.serves("fourth")
			b.remainsUnseen(orphan)
			b.s = b.start(b.kubeconfig(service), documents(t, b.helm("get", "manifest", service)))
			b.sees(orphan)
			for _, shard := range []*release{a, b, c} {
				shard.s.stop()
				shard.release()
				shard.helm("uninstall", service, "--wait")
				shard.waitForDeletion()
			}
		})
	}
}

// newShard is a release for the namespaces whose label is the name of its own namespace.
func newShard(t *testing.T, service string) *release {
	t.Helper()
	b := &release{env: newEnv(t, service)}
	b.assign(b)
	b.install("--set", `watchNamespaceSelector.flotilla\.dev/shard=`+b.namespace)
	return b
}

// restarted waits until the service has restarted n times because other namespaces match.
func (b *release) restarted(n int) {
	b.Helper()
	expect.Eventually(b, expect.Long, func() error {
		if got := strings.Count(b.s.log.String(), "other namespaces match"); got != n {
			return fmt.Errorf("the service restarted %d times, want %d", got, n)
		}
		return nil
	})
}

// assign gives the namespace of this release to another one.
func (b *release) assign(to *release) {
	b.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"flotilla.dev/shard":"`+to.namespace+`"}}}`))
	if err := b.client.Patch(b.Context(), ns, patch); err != nil {
		b.Fatal(err)
	}
}
