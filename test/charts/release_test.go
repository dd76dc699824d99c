package charts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

// lifecycle has the parameters of the release test for a service.
type lifecycle struct {
	values []string
	// object is an object of the service, in the state in which the service manages it.
	object string
	// made lists the objects that the running service creates: kind and name.
	made map[string]string
	// before creates Secrets; checks verify the results of the Jobs.
	before func(p env)
	checks map[string]func(p env, output string)
	// command is a command of docs/commands.md, which runs after the hooks; printed verifies its output.
	command string
	printed func(p env, output string)
}

func lifecycles() map[string]lifecycle {
	return map[string]lifecycle{
		"superset-operator": {
			object: "{apiVersion: superset.apache.org/v1alpha1, kind: Superset, spec: {environment: Development, image: {tag: 6.0.0}, secretKey: x}}",
			made:   map[string]string{"superset-operator.flotilla.dev": "Lease"},
		},
		"engine-operator": {
			object: "{apiVersion: compute.firebolt.io/v1alpha1, kind: FireboltEngineClass, spec: {template: {}}, " +
				"metadata: {finalizers: [compute.firebolt.io/fireboltengineclass-deletion-guard]}}",
			made:   map[string]string{"engine-operator.flotilla.dev": "Lease", "engine-operator-webhook-cert": "Secret"},
			checks: map[string]func(env, string){"engine-operator-release": reports("FireboltEngineClass  1")},

			command: `["remove-finalizers","--dry-run"]`,
			printed: reports("WOULD BE RELEASED"),
		},
		"ingester": {
			values: []string{"--set", "database.dsnSecret.name=database"},
			// The policy of the chart adds the finalizer.
			object: "{apiVersion: michelangelo.api/v2, kind: Model, spec: {}}",
			made:   map[string]string{"ingester.flotilla.dev": "Lease"},
			before: func(p env) { p.create(secret("database", "dsn", mysqltest.DSN(p))) },
			checks: map[string]func(env, string){
				"ingester-migrate": reports("00001_create_model.sql"),
				"ingester-release": reports("Model            1"),
			},
			command: `["remove-finalizers","--dry-run"]`,
			printed: reports("WOULD BE RELEASED"),
		},
		"status-aggregator": {
			values: []string{"--set", "cluster.name=prod,bus.url=nats://nats:4222,bus.bootstrapJob.enabled=true,bus.bootstrapJob.urlSecret.name=bootstrap"},
			made:   map[string]string{"status-aggregator.flotilla.dev": "Lease", "flotilla-conditions": "Lease"},
			before: func(p env) {
				srv := busauth.Start(p, busauth.Names{Cluster: "prod", Namespace: "team-a", Tool: "pager"})
				p.create(secret("bootstrap", "url", srv.As("bootstrap")))
				p.Cleanup(func() { srv.WantNoViolations(p) })
				p.create(secret("admin", "url", srv.As(busauth.Admin)))
			},
			checks: map[string]func(env, string){"status-aggregator-bootstrap": streamsAreThere},

			command: `["bus","verify"]`,
			printed: streamsAreThere,
		},
	}
}

func reports(want string) func(env, string) {
	return func(p env, output string) {
		p.Helper()
		if !strings.Contains(output, want) {
			p.Errorf("output lacks %q:\n%s", want, output)
		}
	}
}

func streamsAreThere(p env, output string) {
	p.Helper()
	nc, err := nats.Connect(string(p.secret("admin")["url"]))
	if err != nil {
		p.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		p.Fatal(err)
	}
	for _, name := range []string{"FLOTILLA_OBS", "FLOTILLA_LIFECYCLE", "KV_FLOTILLA_STATUS"} {
		if _, err := js.Stream(p.Context(), name); err != nil {
			p.Errorf("stream %s: %v\n%s", name, err, output)
		}
	}
}

func secret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{key: value}}
}

func (p env) create(o client.Object) {
	p.Helper()
	o.SetNamespace(p.namespace)
	if err := p.client.Create(p.Context(), o); err != nil {
		p.Fatal(err)
	}
}

// helm runs helm against the control plane of the test.
func (p env) helm(args ...string) string {
	p.Helper()
	out, err := p.tryHelm(args...)
	if err != nil {
		p.Fatal(err)
	}
	return out
}

// tryHelm is like helm, but returns the error. Next to the scenarios of e2e, the API server removed a large CRD in more than
// helm's default timeout of five minutes.
func (p env) tryHelm(args ...string) (string, error) {
	p.Helper()
	if slices.Contains(args, "--wait") && !slices.Contains(args, "--timeout") {
		args = append(args, "--timeout", "15m")
	}
	return helm(p, append(args, "--namespace", p.namespace, "--kubeconfig", cluster.Get(p).Kubeconfig)...)
}

// TestInstallUpgradeUninstall installs each chart alone, upgrades it with other values, rolls it back and
// uninstalls it. Afterwards no objects of the release remain, and managed objects can be deleted.
func TestInstallUpgradeUninstall(t *testing.T) {
	all := lifecycles()
	for _, service := range services {
		t.Run(service, func(t *testing.T) {
			if service != "status-aggregator" { // whose bus takes its passwords from the environment
				t.Parallel()
			}
			c := cluster.Get(t)
			p := env{T: t, client: c.Client(t, scheme.Scheme), namespace: c.Namespace(t), service: service}
			p.live(all[service])
		})
	}
}

func (p env) live(s lifecycle) {
	p.Helper()
	if s.object != "" {
		p.withoutCRDs()
		p.installCRDs()
	}
	if s.before != nil {
		s.before(p)
	}
	// The webhooks of the engine operator reject all requests, since simulated pods do not answer.
	early := p.service == "engine-operator"
	var object *unstructured.Unstructured
	if early {
		object = p.make(s.object)
	}
	p.helm(append([]string{"install", p.service, chart(p.service), "--wait"}, s.values...)...)
	p.works(p.appVersion(), 2)
	p.upgradeAndRollBack(s)
	if left := p.left(p.listable()...); len(left) < 5 {
		p.Fatalf("found only %v of an installed release", left)
	}
	if !early && s.object != "" {
		object = p.make(s.object)
	}
	p.fakeOperator(s.made)
	hooks := documents(p, p.helm("get", "hooks", p.service))
	p.jobs(hooks, s.checks)
	p.command(s)

	if p.service == "ingester" {
		p.failsOnce()
	}
	p.helm("uninstall", p.service, "--wait")
	p.nothingLeft("")
	for name, kind := range s.made {
		p.absent(kind, name)
	}
	if object != nil {
		if err := p.client.Delete(p.Context(), object); err != nil {
			p.Fatal(err)
		}
		expect.Deleted(p, p.client, object)
		p.definitions()
	}
}

func (p env) make(text string) *unstructured.Unstructured {
	p.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		p.Fatal(err)
	}
	u.SetName("one")
	u.SetNamespace(p.namespace)
	if p.service != "ingester" {
		p.create(u)
		return u
	}
	// The API server enforces a new policy with a delay.
	expect.Eventually(p, expect.Long, func() error {
		probe := u.DeepCopy()
		if err := p.client.Create(p.Context(), probe, client.DryRunAll); err != nil {
			return err
		}
		if !slices.Equal(probe.GetFinalizers(), []string{"michelangelo/Ingester"}) {
			return fmt.Errorf("the policy gave the finalizers %v", probe.GetFinalizers())
		}
		return nil
	})
	p.create(u)
	return u
}

// appVersion returns the version that the chart installs by default.
func (p env) appVersion() string {
	p.Helper()
	raw, err := os.ReadFile(filepath.Join(chart(p.service), "Chart.yaml"))
	if err != nil {
		p.Fatal(err)
	}
	var c struct{ AppVersion string }
	if err := yaml.Unmarshal(raw, &c); err != nil {
		p.Fatal(err)
	}
	return c.AppVersion
}

// works waits until the Deployment matches the values.
func (p env) works(tag string, replicas int32) {
	p.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.service}}
	expect.Object(p, p.client, d, func(d *appsv1.Deployment) error {
		image := d.Spec.Template.Spec.Containers[0].Image
		if d.Status.ReadyReplicas != replicas || !strings.HasSuffix(image, ":"+tag) {
			return fmt.Errorf("%d ready replicas of %s", d.Status.ReadyReplicas, image)
		}
		return nil
	})
}

// fakeOperator creates the objects that a running service would create, since simulated pods do not run it.
func (p env) fakeOperator(made map[string]string) {
	p.Helper()
	for name, kind := range made {
		named := metav1.ObjectMeta{Name: name}
		if kind == "Lease" {
			p.create(&coordinationv1.Lease{ObjectMeta: named})
		} else {
			p.create(&corev1.Secret{ObjectMeta: named})
		}
	}
}
