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
	healthy   = readmodeltest.Condition("Degraded", "False", "Healthy", 0)
)

func names(list statusapi.ResourceList) []string {
	out := []string{}
	for _, r := range list.Items {
		out = append(out, r.Object.Name)
	}
	return out
}

// listed waits until a list contains exactly these names.
func (b *testEnv) listed(query string, want ...string) statusapi.ResourceList {
	b.Helper()
	var list statusapi.ResourceList
	expect.Eventually(b, expect.Long, func() error {
		list = decode[statusapi.ResourceList](b, b.get(statusapi.PathResources+query))
		if diff := cmp.Diff(append([]string{}, want...), names(list)); diff != "" {
			return fmt.Errorf("%s (-want +got):\n%s", query, diff)
		}
		return nil
	})
	return list
}

func TestListReturnsOnlyPermittedResources(t *testing.T) {
	b := newTestEnv(t)
	otherNamespace := cluster.Get(t).Namespace(t)
	b.Superset("one", available, healthy)
	b.Superset("two", available, degraded)
	ownNamespace := b.Namespace
	b.Namespace = otherNamespace
	b.Superset("hidden", degraded)
	b.Namespace = ownNamespace

	b.wantError(b.get(statusapi.PathResources), http.StatusUnauthorized, "Unauthorized", "bearer token")
	b.login("ada", ownNamespace)
	b.listed("", "one", "two")
	b.listed("?namespace="+ownNamespace, "one", "two")
	b.listed("?condition=Degraded=True", "two")
	b.listed("?condition=Degraded%3DTrue&condition=Available", "two")
	b.listed("?kind=fireboltengine&namespace=" + ownNamespace)
	b.wantError(b.get(statusapi.PathResources+"?namespace="+otherNamespace), http.StatusForbidden, "Forbidden", otherNamespace)
	b.wantError(b.get(statusapi.PathResources+"?kind=superset&namespace="+otherNamespace), http.StatusForbidden, "Forbidden", `cannot list resource "supersets"`)

	first := b.listed("?limit=1", "one")
	second := b.listed("?limit=1&continue="+url.QueryEscape(first.Continue), "two")
	if first.Continue == "" || second.Continue != "" {
		t.Errorf("tokens %q and %q", first.Continue, second.Continue)
	}

	b.login("eve")
	b.listed("")
	b.login("root", ownNamespace, otherNamespace)
	both := []string{"two", "hidden"}
	if otherNamespace < ownNamespace {
		slices.Reverse(both)
	}
	b.listed("?condition=Degraded=True", both...)
}

// A caller with permission for the whole cluster needs none for single namespaces.
func TestListAcceptsClusterPermission(t *testing.T) {
	b := newTestEnv(t)
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
			return fmt.Errorf("got status %d", a.StatusCode)
		}
		return nil
	})
}

func (b *testEnv) path(namespace, name string) string {
	return "/api/v1/namespaces/" + namespace + "/superset/" + name
}

func TestGetReturnsResource(t *testing.T) {
	b := newTestEnv(t)
	o := b.Superset("main", available, degraded)
	b.Entry(contract.StatusEntry{Object: o, DeployedVersion: "6.0.0", UpdatedAt: readmodeltest.Start, Provenance: &contract.Provenance{
		Observer: contract.Observer{Name: "superset-operator", Instance: "pod"}, Epoch: 1, Seq: 2, ReceivedAt: readmodeltest.Start, Evidence: []string{"e"},
	}})
	b.Observation(readmodeltest.Observation(o))
	b.Event(contract.Lifecycle{Object: o, Event: contract.EventSnapshot, Conditions: []contract.Condition{available, healthy}})
	b.PublishChange(o, contract.EventDegraded, healthy, degraded)
	b.login("ada", b.Namespace)
	expect.Eventually(t, expect.Long, func() error {
		d := decode[statusapi.ResourceDetail](b, b.get(b.path(b.Namespace, "main")))
		if d.Provenance == nil || d.Observation == nil || len(d.History) != 2 || len(d.Resource.Conditions) != 2 {
			return fmt.Errorf("detail %+v", d)
		}
		return nil
	})
	d := decode[statusapi.ResourceDetail](b, b.get(b.path(b.Namespace, "main")+"?limit=1"))
	if len(d.History) != 1 || !d.HistoryTruncated || d.History[0].Event != contract.EventDegraded {
		t.Errorf("the newest event is %+v", d.History)
	}
	b.wantError(b.get(b.path(b.Namespace, "none")), http.StatusNotFound, "NotFound", `Superset "none"`)
	b.wantError(b.get("/api/v1/namespaces/"+b.Namespace+"/boat/none"), http.StatusNotFound, "NotFound", `unknown kind "boat", want one of superset`)
}

// A caller without permission cannot distinguish existing and missing objects.
func TestGetForbiddenRevealsNothing(t *testing.T) {
	b := newTestEnv(t)
	b.Superset("main", available)
	b.login("eve")
	found, notFound := b.get(b.path(b.Namespace, "main")), b.get(b.path(b.Namespace, "none"))
	b.wantError(found, http.StatusForbidden, "Forbidden", "cannot get")
	if want := strings.ReplaceAll(string(found.body), "main", "none"); found.StatusCode != notFound.StatusCode || string(notFound.body) != want {
		t.Errorf("%s\n%s", found.body, notFound.body)
	}
}

func TestServerRejectsInvalidParameters(t *testing.T) {
	b := newTestEnv(t)
	b.login("ada", b.Namespace)
	for path, want := range map[string]string{
		statusapi.PathResources + "?color=red":                             `unknown parameter "color", want one of namespace`,
		statusapi.PathResources + "?kind=superset&kind=superset":           `parameter "kind" is given 2 times`,
		statusapi.PathResources + "?kind=boat":                             `unknown kind "boat", want one of superset, fireboltengine`,
		statusapi.PathResources + "?limit=0":                               "limit must be a number from 1 to 1000",
		statusapi.PathResources + "?limit=many":                            `is "many"`,
		statusapi.PathResources + "?continue=%21":                          "continue must be the token of a previous page",
		statusapi.PathResources + "?condition=Degraded%3Dyes":              `condition "Degraded=yes" is not`,
		statusapi.PathResources + "?namespace=..":                          `".." may not be '..'`,
		statusapi.PathResources + "?namespace=a*":                          `"a*" is not a valid namespace or object name`,
		b.path(b.Namespace, "main") + "?limit=501":                         "limit must be a number from 1 to 500",
		b.path(b.Namespace, "a%2Fb"):                                       "may not contain '/'",
		statusapi.PathEvents + "?since=now":                                `since must be the id of an event, is "now"`,
		statusapi.PathEvents + "?limit=1":                                  `unknown parameter "limit"`,
		statusapi.PathResources + "?namespace=" + strings.Repeat("n", 300): `..."`,
	} {
		b.wantError(b.get(path), http.StatusBadRequest, "BadRequest", want)
	}
	b.wantError(b.get("/api/v2/x"), http.StatusNotFound, "NotFound", "nothing is served")
	b.wantError(b.get("/elsewhere"), http.StatusNotFound, "NotFound", "nothing is served")
	a := b.send(http.MethodPost, statusapi.PathResources)
	b.wantError(a, http.StatusMethodNotAllowed, "MethodNotAllowed", "only GET")
	if a.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("allowed are %q", a.Header.Get("Allow"))
	}
}
