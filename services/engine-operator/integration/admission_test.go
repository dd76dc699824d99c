package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flotilla-dev/flotilla/libs/kube/certs"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/webhook"
)

// newID is the id of every instance that the webhook of a test completes.
const newID = "01JTESTTESTTESTTESTTESTTES"

// admission runs the operator's webhooks in this process, registered by URL for one
// namespace, with the permissions of config/rbac. The controllers do not run.
type admission struct {
	t         *testing.T
	api       client.Client
	namespace string
	options   webhook.Options
	lifetimes certs.Lifetimes
	clock     clock.WithTicker
	ready     map[string]healthz.Checker
	stop      context.CancelFunc
	done      chan error
}

// prepare returns webhooks that are neither registered nor running.
func prepare(t *testing.T, change func(*webhook.Options)) *admission {
	t.Helper()
	a := &admission{t: t, api: apiServer(t), namespace: cluster.Get(t).Namespace(t), clock: clock.RealClock{}}
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	a.options = webhook.Options{Options: webhook.Server()}
	a.options.BindAddress, a.options.Configuration = freeport.Address(port), a.namespace
	if change != nil {
		change(&a.options)
	}
	if err := a.options.Validate(); err != nil {
		t.Fatal(err)
	}
	a.authorize()
	return a
}

// serveWebhooks serves and registers the webhooks of config/webhook.
func serveWebhooks(t *testing.T, change func(*webhook.Options)) *admission {
	t.Helper()
	a := prepare(t, change)
	a.register(true)
	a.run()
	a.active()
	return a
}

// active waits until the API server calls the webhooks and trusts their caBundle.
func (a *admission) active() {
	a.t.Helper()
	expect.Eventually(a.t, expect.Long, func() error {
		err := a.tryCreate("probe", "{instanceRef: i, replicas: 1, template: {spec: {hostPID: true}}}")
		if err == nil || !strings.Contains(err.Error(), "spec.template.spec.hostPID") {
			return fmt.Errorf("not rejected by the webhook: %w", err)
		}
		return nil
	})
}

func (a *admission) user() string {
	return "system:serviceaccount:" + a.namespace + ":engine-operator"
}

// authorize grants the operator its permissions in the namespace, and on its configurations,
// which have the name of the namespace.
func (a *admission) authorize() {
	a.t.Helper()
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: a.namespace, Name: "engine-operator"}}
	in := metav1.ObjectMeta{Namespace: a.namespace, Name: "webhooks"}
	roles := manifests(a.t, "../config/rbac/webhook_role.yaml")
	secret, configurations := &rbacv1.Role{}, &rbacv1.ClusterRole{}
	for i, into := range []any{secret, configurations} {
		if err := convert(roles[i].Object, into); err != nil {
			a.t.Fatal(err)
		}
	}
	secret.Namespace, configurations.Name = a.namespace, a.namespace
	configurations.Rules[0].ResourceNames = []string{a.namespace}
	ref := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	a.create(
		secret, &rbacv1.RoleBinding{ObjectMeta: in, RoleRef: ref("Role", secret.Name), Subjects: subjects},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "operator"}, Subjects: subjects,
			RoleRef: ref("ClusterRole", "flotilla-engine-operator"),
		},
		configurations, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: a.namespace}, RoleRef: ref("ClusterRole", a.namespace), Subjects: subjects,
		},
	)
}

// create creates objects; cluster-scoped objects are deleted when the test ends.
func (a *admission) create(objects ...client.Object) {
	a.t.Helper()
	for _, o := range objects {
		if err := a.api.Create(a.t.Context(), o); err != nil {
			a.t.Fatalf("create %T %q: %v", o, o.GetName(), err)
		}
		if o.GetNamespace() == "" {
			a.t.Cleanup(func() {
				if err := client.IgnoreNotFound(a.api.Delete(context.Background(), o)); err != nil {
					a.t.Error(err)
				}
			})
		}
	}
}

// register installs config/webhook by URL, for the namespace. Without match conditions the API
// server calls the webhooks for every update.
func (a *admission) register(conditions bool) {
	a.t.Helper()
	objects := manifests(a.t, "../config/webhook/manifests.yaml")
	validating, mutating := &admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}
	for i, into := range []any{validating, mutating} {
		if err := convert(objects[i].Object, into); err != nil {
			a.t.Fatal(err)
		}
	}
	only := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": a.namespace}}
	validating.Name, mutating.Name = a.namespace, a.namespace
	for i := range validating.Webhooks {
		webhook := &validating.Webhooks[i]
		a.reach(&webhook.ClientConfig)
		webhook.NamespaceSelector = only
		if !conditions {
			webhook.MatchConditions = nil
		}
	}
	for i := range mutating.Webhooks {
		a.reach(&mutating.Webhooks[i].ClientConfig)
		mutating.Webhooks[i].NamespaceSelector = only
	}
	a.create(validating, mutating)
}

func (a *admission) reach(c *admissionv1.WebhookClientConfig) {
	url := "https://" + a.options.BindAddress + *c.Service.Path
	*c = admissionv1.WebhookClientConfig{URL: &url, CABundle: c.CABundle}
}

// run starts the webhooks and returns when they are ready.
func (a *admission) run() {
	a.t.Helper()
	cfg := rest.CopyConfig(cluster.Get(a.t).Config)
	cfg.Impersonate.UserName = a.user()
	options := ctrl.Options{
		Scheme: scheme(a.t), Metrics: metricsserver.Options{BindAddress: "0"},
		Logger: zap.New(zap.WriteTo(testWriter{a.t})),
	}
	a.options.ManagerOptions(&options)
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		a.t.Fatal(err)
	}
	checked := &checks{Manager: mgr, ready: map[string]healthz.Checker{}}
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(context.Background(), options.Logger))
	err = webhook.Register(ctx, checked, a.options, webhook.Config{
		NewID: func() (string, error) { return newID, nil }, Clock: a.clock,
		Namespace: a.namespace, Lifetimes: a.lifetimes,
	})
	if err != nil {
		cancel()
		a.t.Fatal(err)
	}
	a.ready, a.stop, a.done = checked.ready, cancel, make(chan error, 1)
	go func() { a.done <- mgr.Start(ctx) }()
	a.t.Cleanup(a.stopAndWait)
	expect.Eventually(a.t, expect.Long, func() error {
		for name, check := range a.ready {
			if err := check(nil); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
}

// stopAndWait stops the webhooks; their configurations stay.
func (a *admission) stopAndWait() {
	if a.stop == nil {
		return
	}
	a.stop()
	a.stop = nil
	if err := <-a.done; err != nil {
		a.t.Errorf("webhooks: %v", err)
	}
}

// checks collects the readiness checks, like the service's own endpoint.
type checks struct {
	ctrl.Manager
	ready map[string]healthz.Checker
}

func (c *checks) AddReadyzCheck(name string, check healthz.Checker) error {
	c.ready[name] = check
	return nil
}

// mount writes a bundle like a mounted Secret of cert-manager: a symbolic link is moved to a new directory.
func mount(t *testing.T, dir, version string, b *certs.Bundle) {
	t.Helper()
	data, err := b.Data()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, version), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(dir, version, name), data[name], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	fresh := filepath.Join(dir, "..next")
	if err := os.Symlink(version, fresh); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

// checkError checks that an error contains every text.
func checkError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("accepted, want an error with %q", texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not contain %q:\n%v", text, err)
		}
	}
}
