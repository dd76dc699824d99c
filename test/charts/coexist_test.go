package charts

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// served has, by service, an object and the field that the service sets when it reconciles the object.
var served = map[string]struct{ object, seen string }{
	"superset-operator": {lifecycles()["superset-operator"].object, "status"},
	"engine-operator":   {"{apiVersion: compute.firebolt.io/v1alpha1, kind: FireboltEngineClass, spec: {template: {}}}", "metadata.finalizers"},
	"ingester":          {"{apiVersion: michelangelo.api/v2, kind: Model, spec: {}}", "metadata.finalizers"},
}

// release is one of two releases. Its service runs as a process with the permissions of the release.
type release struct {
	env
	values, flags []string
	s             *started
}

func newRelease(t *testing.T, service string, bus string) *release {
	t.Helper()
	b := &release{env: newEnv(t, service)}
	b.install("--set", "watchNamespaces={"+b.namespace+"},cluster.name=c,bus.url="+bus)
	return b
}

// install installs the release, starts its service and waits until it is the leader.
func (b *release) install(values ...string) {
	t, service := b.T, b.service
	t.Helper()
	b.values = values
	if service == "ingester" {
		b.create(secret("database", "dsn", mysqltest.DSN(t)))
		b.values = append(b.values, "--set", "database.dsnSecret.name=database,admissionPolicy=none")
	}
	if service == "engine-operator" { // nothing listens on the address of a simulated pod
		b.values = append(b.values, "--set", "webhooks.enabled=false")
	}
	b.helm(append([]string{"install", service, chart(service), "--wait", "--no-hooks"}, b.values...)...)
	docs := documents(t, b.helm("get", "manifest", service))
	if service == "status-aggregator" {
		b.flags = []string{"--bus-bootstrap"}
	}
	b.s = b.start(b.kubeconfig(service), docs, b.flags...)
	b.s.probes(true)
	b.waitForLeader()
}

// serves creates an object and waits until the service has reconciled it.
func (b *release) serves(name string) {
	b.Helper()
	o := b.object(name)
	b.create(o)
	b.sees(o)
}

func (b *release) object(name string) *unstructured.Unstructured {
	b.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(served[b.service].object), &o.Object); err != nil {
		b.Fatal(err)
	}
	o.SetName(name)
	return o
}

func (b *release) sees(o *unstructured.Unstructured) {
	b.Helper()
	expect.Object(b, b.client, o, func(o *unstructured.Unstructured) error {
		if !b.seen(o) {
			return errors.New("the object is not observed yet")
		}
		return nil
	})
}

// remainsUnseen fails if a service has reconciled the object.
func (b *release) remainsUnseen(o *unstructured.Unstructured) {
	b.Helper()
	if err := b.client.Get(b.Context(), client.ObjectKeyFromObject(o), o); err != nil || b.seen(o) {
		b.Errorf("the other release has seen it: %v, %v", o.Object, err)
	}
}

func (b *release) seen(o *unstructured.Unstructured) bool {
	_, found, err := unstructured.NestedFieldNoCopy(o.Object, strings.Split(served[b.service].seen, ".")...)
	return err == nil && found
}

// TestReleasesRunSideBySide installs two releases of a chart, each for its own namespace. Neither
// reconciles objects of the other, and one continues when the other is uninstalled.
func TestReleasesRunSideBySide(t *testing.T) {
	for _, service := range services {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			bus := natstest.Start(t).URL()
			if served[service].object != "" {
				newEnv(t, service).withCRDs()
			}
			a, b := newRelease(t, service, bus), newRelease(t, service, bus)
			if service == "status-aggregator" {
				a.holds()
				b.holds()
			} else {
				a.serves("first")
				b.serves("first")
				b.s.stop() // now no service may reconcile objects of b
				unseen := b.object("unseen")
				b.create(unseen)
				a.serves("second")
				b.remainsUnseen(unseen)
				b.s = b.start(b.kubeconfig(service), documents(t, b.helm("get", "manifest", service)))
				b.sees(unseen)
			}
			a.s.stop()
			a.release()
			a.helm("uninstall", service, "--wait")
			a.waitForDeletion()
			if service == "status-aggregator" {
				b.holds()
			} else {
				b.serves("third")
			}
			b.s.stop()
			b.release()
			b.helm("uninstall", service, "--wait")
			b.waitForDeletion()
		})
	}
}

// holds waits until the aggregator of this release renews its Lease.
func (b *release) holds() {
	b.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "flotilla-conditions"}}
	var last *metav1.MicroTime
	expect.Object(b, b.client, lease, func(l *coordinationv1.Lease) error {
		now := l.Spec.RenewTime
		if last == nil {
			last = now
		}
		if now == nil || !last.Before(now) {
			return fmt.Errorf("not renewed since %v", now)
		}
		return nil
	})
}

// release removes the finalizers of the release's namespace, with the permissions of its hook.
func (b *release) release() {
	b.Helper()
	checks := map[string]map[string]func(env, string){
		"engine-operator": {"engine-operator-release": reports("FireboltEngineClass")},
		"ingester":        {"ingester-release": reports("Model"), "ingester-migrate": reports("")},
	}[b.service]
	if checks != nil {
		b.jobs(documents(b, b.helm("get", "hooks", b.service)), checks)
	}
}

// waitForDeletion checks that the release left no objects in its namespace, and none with its name elsewhere.
func (b *release) waitForDeletion() {
	b.Helper()
	b.nothingLeft("-" + b.namespace)
}
