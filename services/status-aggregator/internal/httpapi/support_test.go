package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/docs"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel/readmodeltest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../../superset-operator/config/crd", "../../../engine-operator/config/crd"}, Nodes: 1}))
}

// document is docs/openapi.yaml, parsed once.
var document = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background())
})

// testEnv is the API with a real API server and a real bus.
type testEnv struct {
	*readmodeltest.Env
	base     string
	token    string
	router   routers.Router
	registry *prometheus.Registry
	client   *http.Client
	stop     func()
}

func newTestEnv(t *testing.T, change ...func(*testEnv, *Config)) *testEnv {
	t.Helper()
	as := asAggregator(t)
	b := &testEnv{Env: readmodeltest.New(t, as), registry: prometheus.NewRegistry()}
	authorizer, err := access.New(as, access.Options{TTL: time.Millisecond}) // new roles are effective at once
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Options:    Options{MaxStreams: 10, Options: httpserver.Options{BindAddress: "127.0.0.1:0", MaxRequests: 10, RequestTimeout: time.Minute}},
		Authorizer: authorizer, View: b.View, Hub: b.Hub, Kinds: b.Kinds, Registerer: b.registry,
		Log: logr.Discard(), Clock: clock.RealClock{}, Heartbeat: 100 * time.Millisecond,
	}
	for _, f := range change {
		f(b, &config)
	}
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
	address, err := server.Address(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	if b.router, err = gorillamux.NewRouter(doc); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	b.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	b.base = "http://" + address
	return b
}

const reader = "flotilla-status-api-reader"

// asAggregator returns credentials with exactly the permissions of config/rbac/role.yaml, and creates the role of callers.
func asAggregator(t *testing.T) *rest.Config {
	t.Helper()
	const user = "system:serviceaccount:flotilla-system:status-aggregator-api-test"
	c := cluster.Get(t).Client(t, nil)
	own, callers := roleOf(t, "../../config/rbac/role.yaml"), roleOf(t, "../../config/rbac/api_role.yaml")
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: own.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: own.Name},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}
	for _, o := range []client.Object{own, callers, binding} {
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
	cfg := rest.CopyConfig(cluster.Get(t).Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	return cfg
}

// roleOf reads the first document of a file.
func roleOf(t *testing.T, file string) *rbacv1.ClusterRole {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(raw, []byte("\n---\n"))
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(first, role); err != nil {
		t.Fatal(err)
	}
	return role
}

func (b *testEnv) create(o client.Object) {
	b.Helper()
	if err := b.Client.Create(b.Context(), o); err != nil {
		b.Fatal(err)
	}
}

// login creates a ServiceAccount that may read in some namespaces, uses its token from now on,
// and waits until the roles are effective. It returns the bindings.
func (b *testEnv) login(name string, namespaces ...string) []client.Object {
	b.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: name}}
	b.create(account)
	out := []client.Object{account}
	for _, namespace := range namespaces {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + b.Namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: b.Namespace, Name: name}},
		}
		b.create(binding)
		out = append(out, binding)
	}
	request := &authenticationv1.TokenRequest{}
	if err := b.Client.SubResource("token").Create(b.Context(), account, request); err != nil {
		b.Fatal(err)
	}
	b.token = request.Status.Token
	for _, namespace := range namespaces {
		expect.Eventually(b, expect.Long, func() error {
			if a := b.get(statusapi.PathResources + "?namespace=" + namespace); a.StatusCode != http.StatusOK {
				return fmt.Errorf("%d: %s", a.StatusCode, a.body)
			}
			return nil
		})
	}
	return out
}
