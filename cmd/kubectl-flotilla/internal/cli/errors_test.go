package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

func TestCommandsReportUserErrors(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	create(t, ns, "fleet.yaml")
	s := newShell(t, ns)
	for args, want := range map[string]string{
		"status boat/one":                       `unknown kind "boat": Flotilla manages superset, fireboltinstance, fireboltengineclass, fireboltengine`,
		"status deployment.apps/x":              `unknown kind "deployment.apps": Flotilla does not manage Deployment.apps`,
		"status pipeline/x":                     `kind without conditions: the ingester only stores a Pipeline: use "kubectl get pipeline.michelangelo.api" and "ingester verify"`,
		"why pipelines.michelangelo.api/x":      "kind without conditions: the ingester only stores a Pipeline",
		"status superset/none":                  `superset/none: not found in namespace "` + ns + `"`,
		"status superset/main/web":              "want KIND/NAME or KIND NAME",
		"status superset/":                      "want KIND/NAME or KIND NAME",
		"status superset/main -A":               "cannot be named together with --all-namespaces",
		"why superset/main fire/shop":           "one resource at a time",
		"why":                                   "want KIND/NAME or KIND NAME",
		"wait superset":                         `no name is given for "superset"`,
		"history superset/main --limit=0":       "--limit=0 is not between 1 and 500",
		"history superset/main --since=tuesday": "neither a duration such as 90m nor a time",
		"events --since=yesterday":              "is not a sequence number",
		"pause superset/main --dry-run=maybe":   "--dry-run",
		"status --context=nowhere":              `context "nowhere" does not exist`,
		"frobnicate":                            `unknown command "frobnicate" for "kubectl flotilla"`,
		"wiat":                                  `did you mean wait?`,
		"statu":                                 `unknown command "statu" for "kubectl flotilla", did you mean start or status?`,
	} {
		s.fail(want, strings.Fields(args)...)
	}
}

func TestCommandsReportUnreachableAPIServer(t *testing.T) {
	s := newShell(t, "team-a")
	s.fail("connection refused", "status", "--server=http://127.0.0.1:1")
	s.kubeconfig = filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(s.kubeconfig, []byte("not a kubeconfig"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.fail("read the kubeconfig", "status")
	missing := filepath.Join(t.TempDir(), "none")
	t.Setenv("KUBECONFIG", missing)
	s.kubeconfig = ""
	s.fail("no cluster is named in "+missing+"; set KUBECONFIG or --kubeconfig", "status")
}

// reader creates a ServiceAccount that may read only Supersets of its namespace, and returns its token.
func reader(t *testing.T, namespace string) string {
	t.Helper()
	kube, err := kubernetes.NewForConfig(cluster.Get(t).Config)
	if err != nil {
		t.Fatal(err)
	}
	cl := cluster.Get(t).Client(t, scheme.Scheme)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}}
	role := &rbacv1.Role{ObjectMeta: account.ObjectMeta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"superset.apache.org"}, Resources: []string{"supersets"}, Verbs: []string{"get", "list", "watch"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: account.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "reader"}},
	}
	for _, o := range []client.Object{account, role, binding} {
		if err := cl.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	token, err := kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "reader", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// withToken writes a kubeconfig with two contexts: "reader", with a token of few permissions, and "admin". The first is current.
func withToken(t *testing.T, token, readerNamespace, adminNamespace string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(cluster.Get(t).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	admin := config.Contexts[config.CurrentContext]
	config.AuthInfos["reader"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["reader"] = &clientcmdapi.Context{Cluster: admin.Cluster, AuthInfo: "reader", Namespace: readerNamespace}
	config.Contexts["admin"] = &clientcmdapi.Context{Cluster: admin.Cluster, AuthInfo: admin.AuthInfo, Namespace: adminNamespace}
	config.CurrentContext = "reader"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKubeconfigContextSelectsUserAndNamespace(t *testing.T) {
	own, others := cluster.Get(t).Namespace(t), cluster.Get(t).Namespace(t)
	create(t, own, "fleet.yaml")
	create(t, others, "fleet.yaml")
	s := newShell(t, "") // the namespace of the context
	s.kubeconfig = withToken(t, reader(t, own), own, others)

	if out := s.run("status", "superset/main"); !strings.HasPrefix(out, "superset/main in "+own) {
		t.Errorf("the current context shows\n%s", out)
	}
	if out := s.run("status", "superset/main", "--context=admin"); !strings.HasPrefix(out, "superset/main in "+others) {
		t.Errorf("the other context shows\n%s", out)
	}
	t.Setenv("KUBECONFIG", s.kubeconfig)
	s.kubeconfig = ""
	if out := s.run("status", "superset/main"); !strings.HasPrefix(out, "superset/main in "+own) {
		t.Errorf("$KUBECONFIG shows\n%s", out)
	}
}

func TestStatusShowsAllowedKindsAndReportsForbidden(t *testing.T) {
	own, others := cluster.Get(t).Namespace(t), cluster.Get(t).Namespace(t)
	create(t, own, "fleet.yaml")
	s := newShell(t, "")
	s.kubeconfig = withToken(t, reader(t, own), own, others)
	s.fail(`cannot list resource "fireboltinstances"`, "status")
	if out := s.out.String(); !strings.Contains(out, "superset/main") || strings.Contains(out, "fireboltengine/") {
		t.Errorf("shown is\n%s", out)
	}
	s.fail("is forbidden", "status", "-n", others)
	s.fail("is forbidden", "status", "-A")
	s.fail("is forbidden", "pause", "superset/main")
	s.fail("is forbidden", "wait", "fireng/shop")
}
