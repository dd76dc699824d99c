package charts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
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

// helm runs helm with --wait against the control plane of the test.
func (p env) helm(args ...string) string {
	p.Helper()
	return must(p, append(args, "--namespace", p.namespace, "--kubeconfig", cluster.Get(p).Kubeconfig)...)
}

// TestInstallUpgradeUninstall installs each chart alone, upgrades it with other values and
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
		p.helm("install", p.service+"-crds", chart(p.service+"-crds"), "--wait")
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
	p.works("0.1.0", 2)
	p.helm(append([]string{"upgrade", p.service, chart(p.service), "--wait", "--set", "image.tag=9.9.9,replicas=3"}, s.values...)...)
	p.works("9.9.9", 3)
	if len(p.left()) < 5 {
		p.Fatalf("found only %v of an installed release", p.left())
	}
	if !early && s.object != "" {
		object = p.make(s.object)
	}
	p.fakeOperator(s.made)
	hooks := documents(p, p.helm("get", "hooks", p.service))
	p.jobs(hooks, s.checks)

	if p.service == "ingester" {
		p.failsOnce()
	}
	p.helm("uninstall", p.service, "--wait")
	expect.Eventually(p, expect.Long, func() error {
		if left := p.left(); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
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

// failsOnce makes an uninstall fail: a quota rejects the pod of the Job that removes the finalizers.
func (p env) failsOnce() {
	p.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "no-pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	p.create(quota)
	expect.Object(p, p.client, quota, func(q *corev1.ResourceQuota) error {
		if len(q.Status.Hard) == 0 {
			return errors.New("the quota is not enforced yet")
		}
		return nil
	})
	_, err := helm(p, "uninstall", p.service, "--wait", "--timeout", "8s", "--namespace", p.namespace, "--kubeconfig", cluster.Get(p).Kubeconfig)
	if err == nil {
		p.Error("the uninstall succeeded without its Job")
	}
	if err := p.client.Delete(p.Context(), quota); err != nil {
		p.Fatal(err)
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

// jobs runs the command lines of all hook Jobs with the permissions of the hooks.
func (p env) jobs(hooks []*unstructured.Unstructured, checks map[string]func(env, string)) {
	p.Helper()
	missing := maps.Clone(checks)
	for _, doc := range hooks {
		switch doc.GetKind() {
		case "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
			made := doc.DeepCopy()
			if err := p.client.Create(p.Context(), made); err != nil {
				p.Fatal(err)
			}
			defer func() {
				if err := p.client.Delete(p.Context(), made); err != nil {
					p.Error(err)
				}
			}()
		}
	}
	for _, doc := range hooks {
		if doc.GetKind() != "Job" {
			continue
		}
		check := checks[doc.GetName()]
		delete(missing, doc.GetName())
		if check == nil {
			p.Errorf("no check of Job %s", doc.GetName())
			continue
		}
		var output string
		expect.Eventually(p, expect.Long, func() (err error) { // a new role takes effect with a delay
			if output, err = p.run(doc); err != nil {
				return fmt.Errorf("%s: %w\n%s", doc.GetName(), err, output)
			}
			return nil
		})
		check(p, output)
	}
	if len(missing) > 0 {
		p.Errorf("Jobs not found: %v", slices.Sorted(maps.Keys(missing)))
	}
}

// left lists the objects of all kinds with the label of the release.
func (p env) left() (out []string) {
	p.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(cluster.Get(p).Config)
	if err != nil {
		p.Fatal(err)
	}
	lists, err := d.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		p.Fatal(err)
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			p.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") {
				continue
			}
			var found metav1.PartialObjectMetadataList
			found.SetGroupVersionKind(gv.WithKind(r.Kind + "List"))
			err := p.client.List(p.Context(), &found, client.MatchingLabels{"app.kubernetes.io/instance": p.service})
			if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) { // the kind was just removed
				p.Fatalf("list %s: %v", r.Name, err)
			}
			for _, item := range found.Items {
				out = append(out, r.Kind+" "+item.GetName())
			}
		}
	}
	return out
}

func (p env) absent(kind, name string) {
	p.Helper()
	var o client.Object = &corev1.Secret{}
	if kind == "Lease" {
		o = &coordinationv1.Lease{}
	}
	err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, o)
	if client.IgnoreNotFound(err) != nil || err == nil {
		p.Errorf("%s %s is left: %v", kind, name, err)
	}
}

// definitions uninstalls the CRD chart. The CRDs stay unless keep=false.
func (p env) definitions() {
	p.Helper()
	name := p.service + "-crds"
	var crds []*unstructured.Unstructured
	for _, doc := range documents(p, p.helm("get", "manifest", name)) {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(doc.GroupVersionKind())
		crd.SetName(doc.GetName())
		crds = append(crds, crd)
	}
	p.helm("uninstall", name, "--wait")
	for _, crd := range crds {
		if err := p.client.Get(p.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
			p.Errorf("the CRD was deleted: %v", err)
		}
	}
	p.helm("install", name, chart(name), "--set", "keep=false", "--wait")
	p.helm("uninstall", name, "--wait")
	for _, crd := range crds {
		expect.Deleted(p, p.client, crd)
	}
}
