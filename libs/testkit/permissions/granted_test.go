package permissions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var account = Account{Namespace: "flotilla-system", Name: "ingester"}

// Objects in the format of `kubectl get -o json`.
const (
	readers = `{"kind":"ClusterRole","metadata":{"name":"reader"},"rules":[
		{"apiGroups":["apps",""],"resources":["pods","pods/log"],"verbs":["get"]}]}`
	urls = `{"kind":"ClusterRole","metadata":{"name":"urls"},"rules":[
		{"nonResourceURLs":["/metrics"],"verbs":["get"]}]}`
	named = `{"kind":"Role","metadata":{"name":"reader","namespace":"flotilla-system"},"rules":[
		{"apiGroups":["coordination.k8s.io"],"resources":["leases"],"resourceNames":["b","a"],"verbs":["update"]}]}`
	pod = `{"kind":"Pod","metadata":{"name":"reader","namespace":"flotilla-system"}}`
)

func bind(kind, namespace, roleKind, role, subject string) string {
	return `{"kind":"` + kind + `","metadata":{"name":"x","namespace":"` + namespace + `"},
		"roleRef":{"kind":"` + roleKind + `","name":"` + role + `"},"subjects":[` + subject + `]}`
}

const (
	ingester = `{"kind":"ServiceAccount","namespace":"flotilla-system","name":"ingester"}`
	others   = `{"kind":"ServiceAccount","namespace":"default","name":"ingester"},{"kind":"User","name":"ingester"}`
)

func TestGrantedReturnsBoundPermissions(t *testing.T) {
	everywhere := []string{"core/pods get", "core/pods/log get", "apps/pods get", "apps/pods/log get"}
	cases := map[string]struct {
		objects []string
		want    []string
	}{
		"a role without a binding":    {[]string{readers, pod}, nil},
		"a role of another user":      {[]string{readers, bind("ClusterRoleBinding", "", "ClusterRole", "reader", others)}, nil},
		"a binding of a missing role": {[]string{bind("ClusterRoleBinding", "", "ClusterRole", "reader", ingester)}, nil},
		"each verb on each resource of each group": {
			[]string{readers, bind("ClusterRoleBinding", "", "ClusterRole", "reader", others+","+ingester)}, everywhere,
		},
		"duplicates count once": {
			[]string{
				readers, bind("ClusterRoleBinding", "", "ClusterRole", "reader", ingester),
				bind("ClusterRoleBinding", "", "ClusterRole", "reader", ingester),
			}, everywhere,
		},
		"a ClusterRole in one namespace": {
			[]string{readers, named, bind("RoleBinding", "a", "ClusterRole", "reader", ingester)},
			[]string{"core/pods get in a", "core/pods/log get in a", "apps/pods get in a", "apps/pods/log get in a"},
		},
		"a Role and its names": {
			[]string{readers, named, bind("RoleBinding", "flotilla-system", "Role", "reader", ingester)},
			[]string{"coordination.k8s.io/leases update in flotilla-system named a,b"},
		},
		"a Role of another namespace": {[]string{named, bind("RoleBinding", "a", "Role", "reader", ingester)}, nil},
		"a URL":                       {[]string{urls, bind("ClusterRoleBinding", "", "ClusterRole", "urls", ingester)}, []string{"/metrics get"}},
		"a URL is in no namespace":    {[]string{urls, bind("RoleBinding", "a", "ClusterRole", "urls", ingester)}, nil},
		"a namespace and the cluster": {[]string{readers, bind("RoleBinding", "a", "ClusterRole", "reader", ingester), bind("ClusterRoleBinding", "", "ClusterRole", "reader", ingester)}, []string{"core/pods get", "core/pods get in a", "core/pods/log get", "core/pods/log get in a", "apps/pods get", "apps/pods get in a", "apps/pods/log get", "apps/pods/log get in a"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			policy, err := ParsePolicy([]byte(`{"items":[` + strings.Join(c.objects, ",") + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, permission := range policy.Granted(account) {
				text := permission.Target() + " " + permission.Verb
				if scope := permission.Scope(); scope != "" {
					text += " " + scope
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParsePolicyRejectsBrokenList(t *testing.T) {
	if _, err := ParsePolicy([]byte(`{"items":[`)); err == nil {
		t.Error("a truncated list was accepted")
	}
}
