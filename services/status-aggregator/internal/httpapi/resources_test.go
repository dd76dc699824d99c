package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel/readmodeltest"
)

var (
	available = readmodeltest.Condition("Available", "True", "AllComponentsReady", 0)
	degraded  = readmodeltest.Condition("Degraded", "True", "CrashLoop", 6)
	sound     = readmodeltest.Condition("Degraded", "False", "Healthy", 0)
)

func names(list statusapi.ResourceList) []string {
	out := []string{}
	for _, r := range list.Items {
		out = append(out, r.Object.Name)
	}
	return out
}

// listed waits until a list contains exactly these names.
func (b *bench) listed(query string, want ...string) statusapi.ResourceList {
	b.Helper()
	var list statusapi.ResourceList
	expect.Eventually(b, expect.Long, func() error {
		list = into[statusapi.ResourceList](b, b.get(statusapi.PathResources+query))
		if diff := cmp.Diff(append([]string{}, want...), names(list)); diff != "" {
			return fmt.Errorf("%s (-want +got):\n%s", query, diff)
		}
		return nil
	})
	return list
}

func TestListReturnsOnlyPermittedResources(t *testing.T) {
	b := newBench(t)
	elsewhere := cluster.Get(t).Namespace(t)
	b.Superset("one", available, sound)
	b.Superset("two", available, degraded)
	home := b.Namespace
	b.Namespace = elsewhere
	b.Superset("hidden", degraded)
	b.Namespace = home

	b.refused(b.get(statusapi.PathResources), http.StatusUnauthorized, "Unauthorized", "bearer token")
	b.login("ada", home)
	b.listed("", "one", "two")
	b.listed("?namespace="+home, "one", "two")
	b.listed("?condition=Degraded=True", "two")
	b.listed("?condition=Degraded%3DTrue&condition=Available", "two")
	b.listed("?kind=fireboltengine&namespace=" + home)
	b.refused(b.get(statusapi.PathResources+"?namespace="+elsewhere), http.StatusForbidden, "Forbidden", elsewhere)
	b.refused(b.get(statusapi.PathResources+"?kind=superset&namespace="+elsewhere), http.StatusForbidden, "Forbidden", `cannot list resource "supersets"`)

	first := b.listed("?limit=1", "one")
	second := b.listed("?limit=1&continue="+url.QueryEscape(first.Continue), "two")
	if first.Continue == "" || second.Continue != "" {
		t.Errorf("tokens %q and %q", first.Continue, second.Continue)
	}

	b.login("eve")
	b.listed("")
	b.login("root", home, elsewhere)
	both := []string{"two", "hidden"}
	if elsewhere < home {
		slices.Reverse(both)
	}
	b.listed("?condition=Degraded=True", both...)
}

// A caller with permission for the whole cluster needs none for single namespaces.
func TestListAcceptsClusterPermission(t *testing.T) {
	b := newBench(t)
	b.Superset("one", available)
	b.login("root")
	b.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: b.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: b.Namespace, Name: "root"}},
	})
	b.listed("?namespace="+b.Namespace, "one")
	expect.Eventually(t, expect.Long, func() error {
		if a := b.get(statusapi.PathOpenAPI); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), "openapi: 3") {
			return fmt.Errorf("the document is %d", a.StatusCode)
		}
		return nil
	})
}

func (b *bench) path(namespace, name string) string {
	return "/api/v1/namespaces/" + namespace + "/superset/" + name
}

func TestGetReturnsResource(t *testing.T) {
	b := newBench(t)
	o := b.Superset("main", available, degraded)
	b.Entry(contract.StatusEntry{Object: o, DeployedVersion: "6.0.0", UpdatedAt: readmodeltest.Start, Provenance: &contract.Provenance{
		Observer: contract.Observer{Name: "superset-operator", Instance: "pod"}, Epoch: 1, Seq: 2, ReceivedAt: readmodeltest.Start, Evidence: []string{"e"},
	}})
	b.Observation(readmodeltest.Seen(o))
	b.Event(contract.Lifecycle{Object: o, Event: contract.EventSnapshot, Conditions: []contract.Condition{available, sound}})
	b.Flip(o, contract.EventDegraded, sound, degraded)
	b.login("ada", b.Namespace)
	expect.Eventually(t, expect.Long, func() error {
		d := into[statusapi.ResourceDetail](b, b.get(b.path(b.Namespace, "main")))
		if d.Provenance == nil || d.Observation == nil || len(d.History) != 2 || len(d.Resource.Conditions) != 2 {
			return fmt.Errorf("detail %+v", d)
		}
		return nil
	})
	d := into[statusapi.ResourceDetail](b, b.get(b.path(b.Namespace, "main")+"?limit=1"))
	if len(d.History) != 1 || !d.HistoryTruncated || d.History[0].Event != contract.EventDegraded {
		t.Errorf("the newest event is %+v", d.History)
	}
	b.refused(b.get(b.path(b.Namespace, "none")), http.StatusNotFound, "NotFound", `Superset "none"`)
	b.refused(b.get("/api/v1/namespaces/"+b.Namespace+"/boat/none"), http.StatusNotFound, "NotFound", `unknown kind "boat", want one of superset`)
}

// A caller without permission cannot distinguish existing and missing objects.
func TestGetForbiddenRevealsNothing(t *testing.T) {
	b := newBench(t)
	b.Superset("main", available)
	b.login("eve")
	there, not := b.get(b.path(b.Namespace, "main")), b.get(b.path(b.Namespace, "none"))
	b.refused(there, http.StatusForbidden, "Forbidden", "cannot get")
	if want := strings.ReplaceAll(string(there.body), "main", "none"); there.StatusCode != not.StatusCode || string(not.body) != want {
		t.Errorf("%s\n%s", there.body, not.body)
	}
}

func TestServerRejectsInvalidParameters(t *testing.T) {
	b := newBench(t)
	b.login("ada", b.Namespace)
	for path, want := range map[string]string{
		statusapi.PathResources + "?color=red":                             `unknown parameter "color", want one of namespace`,
		statusapi.PathResources + "?kind=superset&kind=superset":           `parameter "kind" is given 2 times`,
		statusapi.PathResources + "?kind=boat":                             `unknown kind "boat", want one of superset, fireboltengine`,
		statusapi.PathResources + "?limit=0":                               "limit must be a number from 1 to 1000",
		statusapi.PathResources + "?limit=many":                            `is "many"`,
		statusapi.PathResources + "?continue=%21":                          "continue is not the token of a page before",
		statusapi.PathResources + "?condition=Degraded%3Dyes":              `condition "Degraded=yes" is not`,
		statusapi.PathResources + "?namespace=..":                          `".." may not be '..'`,
		statusapi.PathResources + "?namespace=a*":                          `"a*" is not a valid namespace or object name`,
		b.path(b.Namespace, "main") + "?limit=501":                         "limit must be a number from 1 to 500",
		b.path(b.Namespace, "a%2Fb"):                                       "may not contain '/'",
		statusapi.PathEvents + "?since=now":                                `since must be the id of an event, is "now"`,
		statusapi.PathEvents + "?limit=1":                                  `unknown parameter "limit"`,
		statusapi.PathResources + "?namespace=" + strings.Repeat("n", 300): `..."`,
	} {
		b.refused(b.get(path), http.StatusBadRequest, "BadRequest", want)
	}
	b.refused(b.get("/api/v2/x"), http.StatusNotFound, "NotFound", "nothing is served")
	b.refused(b.get("/elsewhere"), http.StatusNotFound, "NotFound", "nothing is served")
	a := b.send(http.MethodPost, statusapi.PathResources)
	b.refused(a, http.StatusMethodNotAllowed, "MethodNotAllowed", "only GET")
	if a.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("allowed are %q", a.Header.Get("Allow"))
	}
}
