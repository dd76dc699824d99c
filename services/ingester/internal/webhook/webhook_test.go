package webhook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/controller/objectsync"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	o := &Options{}
	f := pflag.NewFlagSet("ingester", pflag.ContinueOnError)
	o.AddFlags(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWebhookIsDisabledByDefault(t *testing.T) {
	if o := parse(t); o.Enabled() || o.Validate() != nil {
		t.Errorf("enabled by default, or invalid: %v", o.Validate())
	}
	o := parse(t, "--enable-webhooks")
	if err := o.Validate(); err != nil || !o.Enabled() {
		t.Errorf("enabled %t, %v", o.Enabled(), err)
	}
	err := parse(t, "--enable-webhooks", "--webhook-bind-address=:0", "--webhook-service=a.b").Validate()
	for _, flag := range []string{"--webhook-bind-address", "--webhook-service"} {
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("error %v does not name %s", err, flag)
		}
	}
}

// server is the webhook of one ingester in this process, registered by URL for one
// namespace, with the permissions of config/rbac/webhook_role.yaml.
type server struct {
	*env
	options Options
	watched []string
	ready   map[string]healthz.Checker
	stop    func()
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{env: newEnv(t), ready: map[string]healthz.Checker{}}
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	s.options = *parse(t, "--enable-webhooks", "--webhook-bind-address="+freeport.Address(port), "--webhook-configuration="+s.namespace)
	s.authorize()
	return s
}

func (s *server) user() string { return "system:serviceaccount:" + s.namespace + ":ingester" }

func (s *server) authorize() {
	s.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", "webhook_role.yaml"))
	if err != nil {
		s.Fatal(err)
	}
	secret, configurations := &rbacv1.Role{}, &rbacv1.ClusterRole{}
	for i, document := range strings.Split(string(raw), "\n---\n") {
		if err := yaml.UnmarshalStrict([]byte(document), []any{secret, configurations}[i]); err != nil {
			s.Fatal(err)
		}
	}
	if configurations.Rules[0].ResourceNames[0] != name || secret.Rules[0].ResourceNames[0] != s.options.CertSecret {
		s.Errorf("webhook_role.yaml does not name %s and %s", name, s.options.CertSecret)
	}
	secret.Namespace, configurations.Name = s.namespace, s.namespace
	configurations.Rules[0].ResourceNames = []string{s.namespace}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.namespace, Name: "ingester"}}
	s.install(secret,
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "webhook"}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: secret.Name},
		},
		configurations,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.namespace},
		},
	)
}

// register registers the webhook for the namespace of the test.
func (s *server) register() {
	s.Helper()
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	decode(s.T, "webhook/manifests.yaml", configuration)
	configuration.Name = s.namespace
	hook := &configuration.Webhooks[0]
	url := "https://" + s.options.BindAddress + *hook.ClientConfig.Service.Path
	hook.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url}
	hook.NamespaceSelector = s.namespaceSelector()
	s.install(configuration)
}

// checked runs the readiness checks, as the service's own endpoint does.
type checked struct {
	ctrl.Manager
	ready map[string]healthz.Checker
}

func (c *checked) AddReadyzCheck(name string, check healthz.Checker) error {
	c.ready[name] = check
	return nil
}

// run serves until halt is called or the test ends.
func (s *server) run() {
	s.Helper()
	cfg := rest.CopyConfig(cluster.Get(s).Config)
	cfg.Impersonate.UserName = s.user()
	options := ctrl.Options{Scheme: clientgoscheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}}
	s.options.ManagerOptions(&options)
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = Register(ctx, &checked{Manager: mgr, ready: s.ready}, s.options, Config{
		Clock: clock.RealClock{}, Namespace: s.namespace, Watched: s.watched,
	})
	if err != nil {
		cancel()
		s.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.Errorf("the webhook ended: %v", err)
		}
		s.stop = func() {}
	}
	s.Cleanup(func() { s.stop() })
	expect.Eventually(s, expect.Long, func() error {
		for name, check := range s.ready {
			if err := check(nil); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
}

func TestWebhookAddsFinalizerToNewObjects(t *testing.T) {
	s := newServer(t)
	s.register()
	s.run()
	if len(s.ready) != 2 {
		t.Errorf("%d readiness checks, want those of the server and of its certificates", len(s.ready))
	}
	s.active()
	s.checkNewObjects()
}

func TestWebhookIgnoresOtherNamespaces(t *testing.T) {
	s := newServer(t)
	s.watched = []string{"another", s.namespace}
	s.register()
	s.run()
	s.active()
	s.stop()
	s.watched = []string{"another"}
	s.run()
	if err := has(s.create(s.object("Model", "one"))); err != nil {
		t.Error(err)
	}
}

func TestObjectsAreCreatedDuringWebhookOutage(t *testing.T) {
	s := newServer(t)
	s.register()
	s.run()
	s.active()
	s.stop()
	u := s.create(s.object("Model", "orphan"))
	if err := has(u); err != nil {
		t.Errorf("the webhook is not down: %v", err)
	}
	s.runController()
	expect.Object(t, s.client, u, func(o *unstructured.Unstructured) error { return has(o, api.IngesterFinalizer) })
}

// runController runs the controller of Models, with storage.
func (s *server) runController() {
	s.Helper()
	m, err := metrics.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	store, err := mysql.Open(context.WithoutCancel(s.Context()), mysql.Options{DSN: mysqltest.DSN(s), Metrics: m, Log: logr.Discard()})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := store.Close(); err != nil {
			s.Error(err)
		}
	})
	if err := store.Prepare(s.Context()); err != nil {
		s.Fatal(err)
	}
	store.SetIncarnation(1)
	mgr, err := ctrl.NewManager(cluster.Get(s).Config, ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
	})
	if err != nil {
		s.Fatal(err)
	}
	c := objectsync.New(objectsync.Config{
		Kind: kinds(s)[0], Store: store, Metrics: m, Workers: 1, RequeuePeriod: time.Second, OnDelete: func(string, string) {},
	})
	if err := c.SetupWithManager(mgr); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
	})
}
