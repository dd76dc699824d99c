package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func TestGetFromClusterAndStorage(t *testing.T) {
	l := newClusterEnv(t)
	l.login("ada", reader)
	present, evictedOnly := l.inCluster("there", nil), l.evicted("gone", nil)
	for name, want := range map[string]struct{ source, uid string }{
		"there": {sourceCluster, string(present.GetUID())}, "gone": {sourceStorage, string(evictedOnly.GetUID())},
	} {
		var got unstructured.Unstructured
		a := l.send(http.MethodGet, l.path+"/"+name, "")
		l.into(a, http.StatusOK, &got)
		if a.Header.Get(sourceHeader) != want.source || string(got.GetUID()) != want.uid || got.GetKind() != "Model" {
			t.Errorf("%s: %s from %s, want %s from %s", name, got.GetUID(), a.Header.Get(sourceHeader), want.uid, want.source)
		}
	}
	l.status(l.send(http.MethodGet, l.path+"/nothing", ""), http.StatusNotFound, `models.michelangelo.api "nothing" not found`)
	if err := l.store.Close(); err != nil {
		t.Fatal(err)
	}
	a := l.send(http.MethodGet, l.path+"/gone", "")
	if a.StatusCode == http.StatusNotFound || a.StatusCode < http.StatusInternalServerError {
		t.Errorf("without the database the status is %d", a.StatusCode)
	}
	if a := l.send(http.MethodGet, l.path+"/there", ""); a.StatusCode != http.StatusOK {
		t.Errorf("without the database an object of the cluster got status %d", a.StatusCode)
	}
}

func TestAuthorizationMatchesAPIServer(t *testing.T) {
	l := newClusterEnv(t)
	l.inCluster("churn", nil)
	l.status(l.send(http.MethodGet, l.path, ""), http.StatusUnauthorized, "")
	l.token = "nonsense"
	l.status(l.send(http.MethodGet, l.path, ""), http.StatusUnauthorized, "")
	l.login("nobody")
	for method, path := range map[string]string{http.MethodGet: l.path + "/churn", http.MethodDelete: l.path + "/churn", http.MethodPost: l.path + "/query"} {
		l.status(l.send(method, path, ""), http.StatusForbidden, `resource "models" in API group "michelangelo.api" in the namespace "`+l.namespace+`"`)
	}
	l.login("ada", reader)
	l.status(l.send(http.MethodGet, root+"/models", ""), http.StatusForbidden, "at the cluster scope")
	l.status(l.send(http.MethodPost, root+"/models/query", ""), http.StatusForbidden, "at the cluster scope")
	l.status(l.send(http.MethodGet, root+"/namespaces/default/models", ""), http.StatusForbidden, `in the namespace "default"`)
	l.status(l.send(http.MethodDelete, l.path+"/churn", ""), http.StatusForbidden, "cannot delete")
	l.status(l.send(http.MethodDelete, l.path, ""), http.StatusForbidden, "cannot deletecollection")
	l.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: l.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: l.namespace, Name: "ada"}},
	})
	expect.Eventually(t, expect.Long, func() error {
		if a := l.send(http.MethodGet, root+"/models", ""); a.StatusCode != http.StatusOK {
			return fmt.Errorf("%d: %s", a.StatusCode, a.body)
		}
		return nil
	})
	if got := l.live("churn").GetAnnotations(); len(got) != 0 {
		t.Errorf("a user without permission has marked it: %v", got)
	}
}

func TestListFromStorage(t *testing.T) {
	l := newClusterEnv(t)
	l.login("ada", reader)
	for i := range 25 {
		l.evicted(fmt.Sprintf("m-%02d", i), map[string]string{"team": "growth", "odd": fmt.Sprint(i%2 == 1)})
	}
	l.evicted("other", map[string]string{"team": "fraud"})
	var all []string
	for next, pages := "", 0; pages == 0 || next != ""; pages++ {
		v := url.Values{paramLimit: {"10"}, paramOrder: {"metadata.name:desc"}, paramLabels: {"team=growth"}}
		if next != "" {
			v.Set(paramContinue, next)
		}
		var names []string
		names, next = l.names(l.send(http.MethodGet, l.path+"?"+v.Encode(), ""))
		all = append(all, names...)
	}
	if len(all) != 25 || all[0] != "m-24" || all[24] != "m-00" {
		t.Errorf("%d names: %v", len(all), all)
	}
	criterion := `{"criterion":[{"fieldName":"metadata.name","operator":"IN","matchValue":["m-01","m-02","nothing"]}]}`
	for query, want := range map[string]string{
		"labelSelector=" + url.QueryEscape("team notin (growth)"):                    "other",
		"labelSelector=odd&fieldSelector=metadata.name%3Dm-07":                       "m-07",
		"orderBy=name&filter=" + url.QueryEscape(criterion):                          "m-01 m-02",
		"fieldSelector=spec.owner.name%3Dnobody":                                     "",
		"orderBy=name&limit=2&template=models-by-owner&filter=" + owner("nobody"):    "refused",
		"template=models-by-owner&labelSelector=team%3Dfraud&filter=" + owner("ada"): "other",
	} {
		a := l.send(http.MethodGet, l.path+"?"+query, "")
		if want == "refused" {
			l.status(a, http.StatusBadRequest, "has an order of its own")
			continue
		}
		if names, _ := l.names(a); strings.Join(names, " ") != want {
			t.Errorf("%s: %v, want %s", query, names, want)
		}
	}
	body := `{"orderBy":[{"field":"name"}],"pagination":{"offset":3,"limit":2},"returnedFieldSkipList":["spec.owner"],"operation":` + criterion[:len(criterion)-1] + `,"logicalOperator":"OR"}}`
	if names, _ := l.names(l.send(http.MethodPost, l.path+"/query", body)); len(names) != 0 {
		t.Errorf("behind the end there are %v", names)
	}
	a := l.send(http.MethodPost, l.path+"/query", strings.Replace(body, `"offset":3`, `"offset":1`, 1))
	if names, _ := l.names(a); strings.Join(names, " ") != "m-02" || bytes.Contains(a.body, []byte(`"owner"`)) {
		t.Errorf("%v: %s", names, a.body)
	}
	for query, want := range map[string]string{
		"fieldSelector=spec.secret%3D1":   `unknown or unindexed field "spec.secret" of kind Model`,
		"labelSelector=a+b":               "label selector",
		"continue=nonsense":               "continue",
		"orderBy=spec.secret":             `field "spec.secret"`,
		"skipFields=spec.secret":          `spec.secret`,
		"template=nothing":                `unknown template "nothing" of kind Model`,
		"filter=%7B%22criterion%22:[{}]}": "unknown or unindexed field",
	} {
		l.status(l.send(http.MethodGet, l.path+"?"+query, ""), http.StatusBadRequest, want)
	}
}

func owner(name string) string {
	return url.QueryEscape(`{"criterion":[{"fieldName":"owner","operator":"EQUAL","matchValue":"` + name + `"}]}`)
}

func TestDeleteMarksObjectAndClosesRow(t *testing.T) {
	l := newClusterEnv(t)
	l.login("ada", reader, deleter)
	present := l.inCluster("there", map[string]string{"team": "growth"})
	l.evicted("gone", nil)
	l.evicted("kept", nil)
	path := l.path + "/there"
	l.status(l.send(http.MethodDelete, path, `{"preconditions":{"uid":"another"}}`), http.StatusConflict, "precondition failed: uid")
	l.status(l.send(http.MethodDelete, path, `{"preconditions":{"resourceVersion":"1"}}`), http.StatusConflict, "precondition failed: resourceVersion")
	l.status(l.send(http.MethodDelete, path+"?dryRun=All", ""), http.StatusAccepted, "dry run")
	if now := l.live("there"); now.GetResourceVersion() != present.GetResourceVersion() {
		t.Error("the object has changed though nothing was to be done")
	}
	l.status(l.send(http.MethodDelete, path, ""), http.StatusAccepted, "is marked for deletion")
	now := l.live("there")
	if !api.IsSet(now.GetAnnotations(), api.DeletingAnnotation) || now.GetDeletionTimestamp() != nil || now.GetLabels()["team"] != "growth" {
		t.Errorf("marked: %v", now.Object["metadata"])
	}
	l.status(l.send(http.MethodDelete, path, ""), http.StatusAccepted, "is being deleted already")

	l.status(l.send(http.MethodDelete, l.path+"/gone?dryRun=All", ""), http.StatusOK, "dry run")
	l.status(l.send(http.MethodDelete, l.path+"/gone", ""), http.StatusOK, "was in storage only and is deleted")
	l.status(l.send(http.MethodDelete, l.path+"/gone", ""), http.StatusNotFound, `"gone" not found`)
	l.status(l.send(http.MethodGet, l.path+"/gone", ""), http.StatusNotFound, `"gone" not found`)
	if names, _ := l.names(l.send(http.MethodGet, l.path, "")); strings.Join(names, " ") != "kept" {
		t.Errorf("in storage are %v", names)
	}
}

// TestDeleteDuringEvictionClosesRow deletes an object that was evicted and that a
// foreign finalizer still holds in the cluster.
func TestDeleteDuringEvictionClosesRow(t *testing.T) {
	l := newClusterEnv(t)
	l.login("ada", reader, deleter)
	m := l.inCluster("held", nil)
	m.SetFinalizers([]string{"example.com/other"})
	if err := l.client.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.store.Evict(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.client.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.status(l.send(http.MethodDelete, l.path+"/held?dryRun=All", ""), http.StatusAccepted, "dry run")
	if names, _ := l.names(l.send(http.MethodGet, l.path, "")); strings.Join(names, " ") != "held" {
		t.Errorf("after a dry run in storage are %v", names)
	}
	l.status(l.send(http.MethodDelete, l.path+"/held", ""), http.StatusAccepted, "is being deleted already")
	if names, _ := l.names(l.send(http.MethodGet, l.path, "")); len(names) > 0 {
		t.Errorf("in storage are %v", names)
	}
}

// The earlier implementation ignored selectors here and deleted the whole namespace.
func TestDeleteCollectionDeletesSelectedObjects(t *testing.T) {
	l := newClusterEnv(t)
	l.login("ada", reader, deleter)
	for _, team := range []string{"growth", "fraud"} {
		for i := range 3 {
			labels := map[string]string{"team": team}
			l.inCluster(fmt.Sprintf("%s-%d", team, i), labels)
			l.inStorage(l.live(fmt.Sprintf("%s-%d", team, i)))
			l.evicted(fmt.Sprintf("%s-evicted-%d", team, i), labels)
		}
	}
	relabeled := l.live("growth-2") // gets another label before the ingester stores it
	relabeled.SetLabels(map[string]string{"team": "fraud"})
	if err := l.client.Update(t.Context(), relabeled); err != nil {
		t.Fatal(err)
	}
	l.status(l.send(http.MethodDelete, l.path+"?labelSelector=team%3Dgrowth&dryRun=All", ""), http.StatusAccepted, "2 marked for deletion, 3 deleted from storage")
	s := l.status(l.send(http.MethodDelete, l.path+"?labelSelector=team%3Dgrowth&limit=4", ""), http.StatusAccepted, "4 of models")
	if s.Continue == "" || s.RemainingItemCount == nil || *s.RemainingItemCount != 2 {
		t.Errorf("the page ends with %+v", s.ListMeta)
	}
	l.status(l.send(http.MethodDelete, l.path+"?labelSelector=team%3Dgrowth&limit=4&continue="+url.QueryEscape(s.Continue), ""), http.StatusAccepted, "2 of models")
	for i := range 3 {
		for _, team := range []string{"growth", "fraud"} {
			marked := api.IsSet(l.live(fmt.Sprintf("%s-%d", team, i)).GetAnnotations(), api.DeletingAnnotation)
			if want := team == "growth" && i < 2; marked != want {
				t.Errorf("%s-%d is marked: %v, want %v", team, i, marked, want)
			}
		}
	}
	names, _ := l.names(l.send(http.MethodGet, l.path+"?orderBy=name", ""))
	want := "fraud-0 fraud-1 fraud-2 fraud-evicted-0 fraud-evicted-1 fraud-evicted-2 growth-0 growth-1 growth-2"
	if strings.Join(names, " ") != want {
		t.Errorf("in storage are %v, want %s", names, want)
	}
}

// The annotation is set on one object, not on another one of the same name.
func TestMarkDeletingChecksUID(t *testing.T) {
	l := newClusterEnv(t)
	u := l.inCluster("churn", nil)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := kinds.Lookup("Model")
	mark := func(m Mark) error {
		m.Namespace, m.Name = l.namespace, "churn"
		return l.cluster.MarkDeleting(t.Context(), kind, m)
	}
	if err := mark(Mark{UID: "another"}); !apierrors.IsConflict(err) {
		t.Errorf("another uid: %v", err)
	}
	if err := mark(Mark{UID: u.GetUID(), ResourceVersion: "1"}); !apierrors.IsConflict(err) {
		t.Errorf("another version: %v", err)
	}
	if got := l.live("churn").GetAnnotations(); len(got) != 0 {
		t.Errorf("marked all the same: %v", got)
	}
	if err := mark(Mark{UID: u.GetUID()}); err != nil {
		t.Error(err)
	}
	if err := l.cluster.MarkDeleting(t.Context(), kind, Mark{Namespace: l.namespace, Name: "nothing", UID: "x"}); !apierrors.IsNotFound(err) {
		t.Errorf("nothing there: %v", err)
	}
}
