package charts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// prerequisites has, by service, a resource that the service requires to start, and its CRD if the service
// waits for it.
var prerequisites = map[string]struct{ resource, definition string }{
	"superset-operator": {"supersets.superset.apache.org", "supersets.superset.apache.org in version v1alpha1"},
	"engine-operator":   {"fireboltengines.compute.firebolt.io", "fireboltengines.compute.firebolt.io in version v1alpha1"},
	"ingester":          {"models.michelangelo.api", ""},
	"status-aggregator": {"customresourcedefinitions.apiextensions.k8s.io", ""},
}

// A service waits for CRDs, permissions and the bus. It logs one line for each and continues without a
// restart.
func TestServiceWaitsForPrerequisites(t *testing.T) {
	for _, service := range services {
		t.Run(service, func(t *testing.T) {
			p, bus := newEnv(t, service), natstest.Start(t)
			p.withoutCRDs()
			bus.Stop()
			args := []string{"--namespace", p.namespace, "--set", "cluster.name=prod,bus.url=" + bus.URL(), "--set", "watchNamespaces={" + p.namespace + "}"}
			if service == "ingester" {
				p.create(secret("database", "dsn", mysqltest.DSN(t)))
				args = append(args, lifecycles()[service].values...)
			}
			docs := documents(t, render(t, service, args...))
			p.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: service}})
			s, need := p.start(p.kubeconfig(service), docs), prerequisites[service]

			if need.definition != "" {
				s.waitForLog("Waiting for CRDs", need.definition, "install the chart "+service+"-crds")
				s.probes(false)
				p.withCRDs()
			}
			s.waitForLog("Waiting for permissions", "list, watch "+need.resource, "get, update leases.coordination.k8s.io "+service+".flotilla.dev", "rbac.create=true")
			s.probes(false)
			roles := p.grant(docs, need.resource)
			where := "in namespace " + p.namespace
			if service == "status-aggregator" {
				where = "in all namespaces"
			}
			s.waitForLog(`"missing":"watch `+need.resource+" "+where+`"`, "Waiting for permissions")
			s.probes(false)
			p.restore(roles)
			s.waitForLog("All CRDs and permissions are available")
			s.probes(true)
			p.waitForLeader()

			if service == "ingester" { // which starts each kind separately
				s.waitForLog(`"kind":"Model","reason"`, "Waiting to watch the kind", "install the chart ingester-crds")
			}
			s.waitForLog("Failed to connect to NATS, retrying", "--nats-url", "FLOTILLA_NATS_URL") // readiness does not depend on it
			bus.Start()
			s.waitForLog("Connected to NATS")
			s.stop()
		})
	}
}

func newEnv(t *testing.T, service string) env {
	t.Helper()
	c := cluster.Get(t)
	return env{T: t, client: c.Client(t, scheme.Scheme), namespace: c.Namespace(t), service: service}
}

// grant creates the roles and bindings of the chart without the permission to watch one resource. It
// returns the complete versions of the changed roles.
func (p env) grant(docs []*unstructured.Unstructured, resource string) (whole []*unstructured.Unstructured) {
	p.Helper()
	kinds := []string{"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
	for _, doc := range docs {
		if !slices.Contains(kinds, doc.GetKind()) || doc.GetAnnotations()["helm.sh/hook"] != "" {
			continue
		}
		made := doc.DeepCopy()
		if strings.HasSuffix(doc.GetKind(), "Role") && dropWatch(p, made, resource) {
			whole = append(whole, doc)
		}
		if err := p.client.Create(p.Context(), made); err != nil {
			p.Fatal(err)
		}
		if made.GetNamespace() == "" {
			p.Cleanup(func() {
				if err := p.client.Delete(context.WithoutCancel(p.Context()), made); err != nil {
					p.Error(err)
				}
			})
		}
	}
	if len(whole) == 0 {
		p.Fatalf("no role permits watch of %s", resource)
	}
	return whole
}

// dropWatch removes the verb watch for one resource and reports whether the role had it.
func dropWatch(t testing.TB, role *unstructured.Unstructured, resource string) (found bool) {
	t.Helper()
	typed, plural := &rbacv1.ClusterRole{}, strings.Split(resource, ".")[0]
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(role.Object, typed); err != nil {
		t.Fatal(err)
	}
	is := func(one string) bool { return one == plural }
	for _, rule := range typed.Rules {
		if !slices.Contains(rule.APIGroups, strings.TrimPrefix(resource, plural+".")) || !slices.ContainsFunc(rule.Resources, is) {
			continue
		}
		less := *rule.DeepCopy()
		less.Resources = []string{plural}
		less.Verbs = slices.DeleteFunc(less.Verbs, func(verb string) bool { return verb == "watch" })
		found = found || len(less.Verbs) < len(rule.Verbs)
		typed.Rules = append(typed.Rules, less)
	}
	for i := range typed.Rules {
		rule := &typed.Rules[i]
		if slices.Contains(rule.Verbs, "watch") {
			rule.Resources = slices.DeleteFunc(rule.Resources, is)
		}
	}
	typed.Rules = slices.DeleteFunc(typed.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Resources) == 0 && len(r.NonResourceURLs) == 0 })
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	role.Object["rules"] = object["rules"]
	return found
}

func (p env) restore(roles []*unstructured.Unstructured) {
	p.Helper()
	for _, role := range roles {
		now := role.DeepCopy()
		if err := p.client.Get(p.Context(), client.ObjectKeyFromObject(role), now); err != nil {
			p.Fatal(err)
		}
		now.Object["rules"] = role.Object["rules"]
		if err := p.client.Update(p.Context(), now); err != nil {
			p.Fatal(err)
		}
	}
}

// waitForLeader waits until the service is the leader.
func (p env) waitForLeader() {
	p.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.service + ".flotilla.dev"}}
	expect.Object(p, p.client, lease, func(l *coordinationv1.Lease) error {
		if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
			return fmt.Errorf("no leader")
		}
		return nil
	})
}

// A service waits for an API server that is unavailable at the start. The tests of the library cover
// that it continues.
func TestServiceWaitsForAPIServer(t *testing.T) {
	for _, service := range services {
		t.Run(service, func(t *testing.T) {
			p := newEnv(t, service)
			cfg, err := clientcmd.LoadFromFile(cluster.Get(t).Kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cfg.Clusters {
				c.Server = "https://127.0.0.1:1"
			}
			away := filepath.Join(t.TempDir(), "away")
			if err := clientcmd.WriteToFile(*cfg, away); err != nil {
				t.Fatal(err)
			}
			docs := documents(t, render(t, service, "--values", renders(t)[service]["default"], "--namespace", p.namespace))
			s := p.start(away, docs)
			s.waitForLog("Waiting for the API server", "connection refused")
			s.probes(false)
			s.stop()
		})
	}
}

// The ingester waits for its database and for a correct password.
func TestIngesterWaitsForDatabase(t *testing.T) {
	p, server := newEnv(t, "ingester"), mysqltest.Private(t)
	parts := regexp.MustCompile(`^([^:]+):([^@]*)@tcp\(([^:]+):(\d+)\)/([^?]+)`).FindStringSubmatch(server.DSN())
	if parts == nil {
		t.Fatalf("cannot read %s", server.DSN())
	}
	password := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(password, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("wrong")
	server.Stop()
	docs := documents(t, render(t, "ingester", "--namespace", p.namespace))
	s := p.start(cluster.Get(t).Kubeconfig, docs, "--mysql-user="+parts[1], "--mysql-password-file="+password,
		"--mysql-host="+parts[3], "--mysql-port="+parts[4], "--mysql-database="+parts[5])
	s.waitForLog("Waiting for MySQL", "connection refused", "--mysql-host", "--mysql-password-file")
	s.probes(false)
	server.Start()
	s.waitForLog("Access denied", "Waiting for MySQL", "--mysql-password-file")
	s.probes(false)
	write(parts[2])
	s.waitForLog("MySQL is ready")
	s.probes(true)
	s.stop()
}
