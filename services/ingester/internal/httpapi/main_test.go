package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../config/crd"}, Nodes: 1}))
}

// clusterEnv is the API over TLS with a real API server and a real database.
type clusterEnv struct {
	*caller
	client    client.Client
	namespace string
	store     *mysql.Storage
	cluster   Cluster
	path      string // of the Models of the namespace
}

func newClusterEnv(t *testing.T, change ...func(*Config)) *clusterEnv {
	t.Helper()
	c := cluster.Get(t)
	l := &clusterEnv{client: c.Client(t, clientgoscheme.Scheme), namespace: c.Namespace(t)}
	l.path = root + "/namespaces/" + l.namespace + "/models"
	l.store = openStore(t)
	cfg := asIngester(t, l.client)
	var err error
	if l.cluster, err = NewCluster(cfg, asUser(t, cfg)); err != nil {
		t.Fatal(err)
	}
	authorizer, err := access.New(cfg, access.Options{TTL: time.Millisecond}) // roles of the test apply at once
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Options:    Options{httpserver.Options{BindAddress: "127.0.0.1:0", MaxRequests: 10, RequestTimeout: time.Minute}},
		Authorizer: authorizer, Cluster: l.cluster, Store: l.store, Log: logr.Discard(), Clock: clock.RealClock{},
	}
	for _, f := range change {
		f(&config)
	}
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	errCh := make(chan error, 1)
	go func() { errCh <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-errCh; err != nil {
			t.Error(err)
		}
	})
	address, err := server.Address(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	_, router := openAPI(t)
	l.caller = &caller{TB: t, base: "https://" + address, router: router, do: transport.RoundTrip}
	return l
}

func asUser(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(cfg, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func openStore(t *testing.T) *mysql.Storage {
	t.Helper()
	store, err := mysql.Open(t.Context(), mysql.Options{DSN: mysqltest.DSN(t), Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := store.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	store.SetIncarnation(1)
	return store
}

// asIngester returns credentials with the permissions of config/rbac/role.yaml and no others.
func asIngester(t *testing.T, c client.Client) *rest.Config {
	t.Helper()
	const user = "system:serviceaccount:flotilla-system:ingester-api-test"
	raw, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(raw, []byte("\n---\n"))
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(first, role); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}
	for _, o := range append(callerRoles(t), role, binding) {
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
	cfg := rest.CopyConfig(cluster.Get(t).Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	return cfg
}

// callerRoles returns the roles of config/rbac/api_role.yaml.
func callerRoles(t *testing.T) []client.Object {
	t.Helper()
	raw, err := os.ReadFile("../../config/rbac/api_role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []client.Object
	for part := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		role := &rbacv1.ClusterRole{}
		if err := yaml.UnmarshalStrict(part, role); err != nil {
			t.Fatal(err)
		}
		out = append(out, role)
	}
	return out
}

// login creates a ServiceAccount with roles of callers in the namespace and uses its token from
// now on. It waits until the API server applies the roles.
func (l *clusterEnv) login(name string, roles ...string) {
	l.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	l.create(account)
	for _, role := range roles {
		l.create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: l.namespace, Name: name}},
		})
	}
	request := &authenticationv1.TokenRequest{}
	if err := l.client.SubResource("token").Create(l.Context(), account, request); err != nil {
		l.Fatal(err)
	}
	l.token = request.Status.Token
	if slices.Contains(roles, reader) {
		expect.Eventually(l, expect.Long, func() error {
			if a := l.send(http.MethodGet, l.path, ""); a.StatusCode != http.StatusOK {
				return fmt.Errorf("%d: %s", a.StatusCode, a.body)
			}
			return nil
		})
	}
	if slices.Contains(roles, deleter) {
		expect.Eventually(l, expect.Long, func() error {
			if a := l.send(http.MethodDelete, l.path+"/nothing?dryRun=All", ""); a.StatusCode != http.StatusNotFound {
				return fmt.Errorf("%d: %s", a.StatusCode, a.body)
			}
			return nil
		})
	}
}

const (
	reader  = "flotilla-ingester-api-reader"
	deleter = "flotilla-ingester-api-deleter"
)

func (l *clusterEnv) create(o client.Object) {
	l.Helper()
	if err := l.client.Create(l.Context(), o); err != nil {
		l.Fatal(err)
	}
}

// inCluster creates a Model in the cluster.
func (l *clusterEnv) inCluster(name string, labels map[string]string) *unstructured.Unstructured {
	l.Helper()
	u := dbtest.Model(name, "", 1)
	u.SetNamespace(l.namespace)
	u.SetLabels(labels)
	u.SetAnnotations(nil)
	u.SetFinalizers(nil)
	u.SetResourceVersion("")
	l.create(u)
	return u
}

// inStorage stores an object, like the ingester.
func (l *clusterEnv) inStorage(objects ...*unstructured.Unstructured) {
	l.Helper()
	for _, u := range objects {
		if err := l.store.Upsert(l.Context(), u, false, nil); err != nil {
			l.Fatal(err)
		}
	}
}

// evicted creates a Model that exists in storage only.
func (l *clusterEnv) evicted(name string, labels map[string]string) *unstructured.Unstructured {
	l.Helper()
	u := dbtest.Model(name, "uid-"+name, 5)
	u.SetNamespace(l.namespace)
	u.SetLabels(labels)
	if err := l.store.Evict(l.Context(), u); err != nil {
		l.Fatal(err)
	}
	return u
}

func (l *clusterEnv) live(name string) *unstructured.Unstructured {
	l.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(api.GroupVersion)
	u.SetKind("Model")
	if err := l.client.Get(l.Context(), client.ObjectKey{Namespace: l.namespace, Name: name}, u); err != nil {
		l.Fatal(err)
	}
	return u
}

// names reads the names of a list.
func (l *clusterEnv) names(a answer) (names []string, next string) {
	l.Helper()
	var list unstructured.UnstructuredList
	if a.StatusCode != http.StatusOK {
		l.Fatalf("%d: %s", a.StatusCode, a.body)
	}
	if err := json.Unmarshal(a.body, &list); err != nil {
		l.Fatal(err)
	}
	if list.GetKind() != "ModelList" {
		l.Errorf("kind %q", list.GetKind())
	}
	for _, u := range list.Items {
		names = append(names, u.GetName())
	}
	return names, list.GetContinue()
}
