package service

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/flotilla-dev/flotilla/libs/kube/namespaces"
)

func TestRequiredPermissionsOfService(t *testing.T) {
	boats := Prerequisite{}
	boats.Group, boats.Version, boats.Resource = "example.dev", "v1", "boats"
	harbors := Prerequisite{ClusterWide: true}
	harbors.Group, harbors.Version, harbors.Resource = "example.dev", "v1", "harbours"
	tests := map[string]struct {
		options Options
		want    []string
	}{
		"everywhere, without a leader": {
			Options{},
			[]string{"list, watch boats.example.dev in all namespaces", "list, watch harbours.example.dev in all namespaces"},
		},
		"in two namespaces, with a leader": {
			Options{LeaderElect: true, LeaderElectionNamespace: "home", WatchNamespaces: []string{"a", "b"}},
			[]string{
				"create leases.coordination.k8s.io in namespace home",
				"get, update leases.coordination.k8s.io fleet.flotilla.dev in namespace home",
				"list, watch boats.example.dev in namespace a", "list, watch boats.example.dev in namespace b",
				"list, watch harbours.example.dev in all namespaces",
			},
		},
		"in namespaces with a label": {
			Options{WatchNamespaceSelector: "team=a"},
			[]string{"list, watch namespaces in all namespaces", "list, watch boats.example.dev in all namespaces", "list, watch harbours.example.dev in all namespaces"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, describe(permissions("fleet", tc.options, []Prerequisite{boats, harbors}))); diff != "" {
				t.Errorf("permissions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissingPrerequisiteRestartsService(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]struct {
		err, ping error
		missing   missing
		want      bool
	}{
		"a permanent error":             {err: broken},
		"a lost lease":                  {err: errLeaseLost, want: true},
		"other namespaces":              {err: namespaces.ErrChanged, want: true},
		"no API server":                 {err: broken, ping: broken, want: true},
		"a CRD that was removed":        {err: broken, missing: missing{crds: []string{"boats"}}, want: true},
		"a permission that was removed": {err: broken, missing: missing{permissions: []string{"list boats"}}, want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := isTransient(tc.err, tc.ping, tc.missing); got != tc.want {
				t.Errorf("isTransient() = %v", got)
			}
		})
	}
}

func TestServiceWaitsForCRDsAndStopsInOrder(t *testing.T) {
	s := start(t, "needy", nil, newEnv(t).args()...)
	s.logged("Waiting for CRDs", 1)
	s.logged("boats.example.dev in version v1", 1)
	s.wantResponse(s.health, "/healthz", http.StatusOK)
	s.wantResponse(s.health, "/readyz", http.StatusInternalServerError)
	s.stop()
}

func TestServiceWaitsForPermissionsAndContinues(t *testing.T) {
	p := newEnv(t)
	args := append(p.args(), "--kubeconfig="+p.account("limited"))
	s := start(t, "mark", nil, args...)
	s.logged("Waiting for permissions", 1)
	s.logged("list, watch configmaps in namespace "+p.ns, 1)
	s.wantResponse(s.health, "/readyz", http.StatusInternalServerError)

	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: "all"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "update"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "all"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: p.ns, Name: "limited"}},
	}
	if err := errors.Join(p.c.Create(t.Context(), role), p.c.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	s.logged("All CRDs and permissions are available", 1)
	s.wantResponse(s.health, "/readyz", http.StatusOK)
	p.marks("first")
	s.stop()
}

// account creates a ServiceAccount without permissions and returns a kubeconfig with its token.
func (p env) account(name string) string {
	p.Helper()
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: name}}
	if err := p.c.Create(p.Context(), sa); err != nil {
		p.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := p.c.SubResource("token").Create(p.Context(), sa, request); err != nil {
		p.Fatal(err)
	}
	cfg, err := clientcmd.LoadFromFile(p.kube)
	if err != nil {
		p.Fatal(err)
	}
	for user := range cfg.AuthInfos {
		cfg.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	}
	file := p.TempDir() + "/kubeconfig"
	if err := clientcmd.WriteToFile(*cfg, file); err != nil {
		p.Fatal(err)
	}
	return file
}
