package evidence

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }

// collect returns the report about a Superset in a cluster whose lists are the given ones, by the end of their path. The
// events of an object are under "events/" and its UID. All other lists are forbidden.
func collect(t *testing.T, lists map[string]any) Report {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if uid, ok := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "involvedObject.uid="); ok {
			key += "/" + uid
		}
		w.Header().Set("Content-Type", "application/json")
		list, ok := lists[key]
		if !ok {
			w.WriteHeader(http.StatusForbidden)
			list = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden}
		}
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetNamespace("team-a")
	u.SetName("main")
	u.SetUID("main")
	return FromCluster(t.Context(), Input{Kube: kube, Kind: contract.Superset, Resource: u, Now: now})
}

func owned(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{{UID: "main"}}}
}

func TestFromClusterReportsMissingPods(t *testing.T) {
	const quota = `pods "web-1" is forbidden: exceeded quota: small`
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	failed := func(name string) *corev1.EventList {
		return &corev1.EventList{Items: []corev1.Event{{Type: "Warning", Reason: "FailedCreate", Message: name, LastTimestamp: metav1.NewTime(ago(1))}}}
	}
	report := collect(t, map[string]any{
		"pods": &corev1.PodList{},
		"deployments": &appsv1.DeploymentList{Items: []appsv1.Deployment{{
			ObjectMeta: owned("web"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: selector},
			Status: appsv1.DeploymentStatus{Replicas: 1, TerminatingReplicas: new(int32(1)), Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentProgressing, Status: "False", Reason: "ProgressDeadlineExceeded"},
				{Type: appsv1.DeploymentReplicaFailure, Status: "True", Message: quota},
			}},
		}}},
		"statefulsets": &appsv1.StatefulSetList{Items: []appsv1.StatefulSet{{
			ObjectMeta: owned("engine"), Spec: appsv1.StatefulSetSpec{Selector: selector},
		}}},
		"jobs":          &batchv1.JobList{Items: []batchv1.Job{{ObjectMeta: owned("migrate"), Spec: batchv1.JobSpec{Selector: selector}}}},
		"events/main":   &corev1.EventList{},
		"events/engine": failed("engine"), "events/migrate": failed("migrate"),
	})
	if len(report.ReadErrors) > 0 {
		t.Fatal(report.ReadErrors)
	}
	want := []contract.Unit{
		{
			Name: "web", Kind: "Deployment", Present: true, Observed: true, Desired: 2, Current: 1, Terminating: 1, Stalled: true,
			Failures: []contract.Failure{{Class: contract.FailureCreateFailed, Count: 1, Message: "forbidden: exceeded quota: small"}},
		},
		{Name: "engine", Kind: "StatefulSet", Present: true, Observed: true, Desired: 1},
	}
	if diff := cmp.Diff(want, report.Observation.Units); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]contract.Job{{Name: "migrate", State: contract.JobPending}}, report.Observation.Jobs); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	var objects []string
	for _, e := range report.Events {
		objects = append(objects, e.Object+": "+e.Message)
	}
	if diff := cmp.Diff([]string{"job/migrate: migrate", "statefulset/engine: engine"}, objects); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A recurring warning whose first occurrence is the oldest event is the newest one.
func TestFromClusterOrdersEventsByLastOccurrence(t *testing.T) {
	events := &corev1.EventList{Items: []corev1.Event{{
		Type: "Warning", Reason: "Recurring", EventTime: metav1.NewMicroTime(ago(100)),
		Series: &corev1.EventSeries{Count: 42, LastObservedTime: metav1.NewMicroTime(ago(1))},
	}}}
	for n := range maxEvents {
		events.Items = append(events.Items, corev1.Event{Reason: fmt.Sprint(n), LastTimestamp: metav1.NewTime(ago(n + 2))})
	}
	// The events of the Job are forbidden, which must not change the order of the others.
	report := collect(t, map[string]any{
		"events/main": events, "jobs": &batchv1.JobList{Items: []batchv1.Job{{ObjectMeta: owned("migrate")}}},
	})
	if n := len(report.Events); n != maxEvents {
		t.Fatalf("%d events, want %d", n, maxEvents)
	}
	if first := report.Events[0]; first.Reason != "Recurring" || first.Count != 42 || !first.Time.Equal(ago(1)) {
		t.Errorf("the first event is %+v, want the recurring one, 42 times, at %s", first, ago(1))
	}
	if !strings.Contains(strings.Join(report.ReadErrors, "\n"), "events: ") {
		t.Errorf("read errors %q, want one of the events", report.ReadErrors)
	}
}
