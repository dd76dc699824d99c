package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statustest"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func TestWhyWithStatusAPI(t *testing.T) {
	s, _ := asReader(t, func(d *statusapi.ResourceDetail) { d.Incomplete = "The stream did not respond." })
	s.golden("why-api.txt", s.run("why", "superset/main"))
	var report struct {
		Source     string
		Provenance contract.Provenance
	}
	if err := json.Unmarshal([]byte(s.run("why", "superset/main", "-o", "json")), &report); err != nil {
		t.Fatal(err)
	}
	if report.Source != "status API" || report.Provenance.Seq != 12 {
		t.Errorf("unexpected report %+v", report)
	}
}

// TestWhyWithoutStatusAPI makes a Deployment of the resource crash on the simulated nodes.
func TestWhyWithoutStatusAPI(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	crashing(t, sup)
	s := newShell(t, ns)
	expect.Eventually(t, expect.Long, func() error {
		out := s.run("why", "superset/main")
		for _, want := range []string{
			"Source: the cluster itself, since the status API did not respond: status aggregator not found: no Service status-aggregator",
			"Degraded            True     2m50s   flotilla-conditions   CrashLoop",
			"main-web-server   Deployment   -      0/2",
			"main-web-server: 2 in CrashLoop (main-web-server-",
			"superset/main   MigrationFailed   it did not work",
		} {
			if !strings.Contains(out, want) {
				return fmt.Errorf("no %q in\n%s", want, out)
			}
		}
		if strings.Contains(out, "not-its-own") {
			t.Errorf("a foreign workload is shown:\n%s", out)
		}
		return nil
	})
	s.kubeconfig = withToken(t, reader(t, ns), ns, ns)
	out := s.run("why", "superset/main")
	if !strings.Contains(out, "Read errors\n  - pods: pods is forbidden") || !strings.Contains(out, "Degraded            True") {
		t.Errorf("without permission to read pods:\n%s", out)
	}
}

// crashing adds a Deployment whose pods crash, and an event, to a resource.
func crashing(t *testing.T, sup *unstructured.Unstructured) {
	t.Helper()
	cl := cluster.Get(t).Client(t, scheme.Scheme)
	owner := metav1.OwnerReference{APIVersion: sup.GetAPIVersion(), Kind: sup.GetKind(), Name: sup.GetName(), UID: sup.GetUID()}
	d := deployment(sup.GetNamespace(), "main-web-server")
	d.OwnerReferences = []metav1.OwnerReference{owner}
	other := deployment(sup.GetNamespace(), "not-its-own")
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: sup.GetNamespace(), Name: "main.1"},
		InvolvedObject: corev1.ObjectReference{Kind: "Superset", Namespace: sup.GetNamespace(), Name: "main", UID: sup.GetUID()},
		Type:           corev1.EventTypeWarning, Reason: "MigrationFailed", Message: "it did not\nwork", LastTimestamp: metav1.NewTime(noon),
	}
	for _, o := range []client.Object{d, other, event} {
		if err := cl.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func deployment(namespace, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{controlplane.FailAnnotation: controlplane.FailCrashLoop}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.org/web:1"}}},
			},
		},
	}
}

func TestHistory(t *testing.T) {
	s, api := asReader(t)
	s.golden("history.txt", s.run("history", "superset/main"))
	if out := s.run("history", "superset/main", "--since=1h"); strings.Contains(out, "41") || !strings.Contains(out, "44") {
		t.Errorf("since an hour:\n%s", out)
	}
	if out := s.run("history", "superset/main", "--since=2026-03-01T11:58:00Z"); out != "" || !strings.Contains(s.err.String(), "No changes of superset/main") {
		t.Errorf("since a time: %q, %q", out, s.err)
	}
	out := s.run("history", "superset/main", "--limit=1")
	if strings.Contains(out, "44") || !strings.Contains(out, "45") || !strings.Contains(s.err.String(), "--limit shows more") {
		t.Errorf("the newest:\n%s%s", out, s.err)
	}
	api.Fail(http.StatusServiceUnavailable, "Unavailable", "The bus is unavailable.")
	s.golden("history-cluster.txt", s.run("history", "superset/main"))
	if !strings.Contains(s.err.String(), "the status API did not respond (read superset/main: the status API returned Unavailable: The bus is unavailable.)") {
		t.Errorf("the message is missing: %q", s.err)
	}
}

// TestHistoryWithoutBusReportsMissingEvents uses an aggregator without NATS, which returns resources without their history.
func TestHistoryWithoutBusReportsMissingEvents(t *testing.T) {
	s, api := asReader(t)
	api.DisconnectBus()
	s.golden("history-cluster.txt", s.run("history", "superset/main"))
	if !strings.Contains(s.err.String(), statustest.BusUnavailable+"; showing the phase changes of its status") {
		t.Errorf("history does not name the source of its changes: %q", s.err)
	}
	s.fail("events may be missing: "+statustest.BusUnavailable, "events")
	s.fail("events may be missing: "+statustest.BusUnavailable, "events", "superset/main")
}

func TestEventsKeepStreamOrder(t *testing.T) {
	s, api := asReader(t)
	s.golden("events.txt", s.run("events"))
	if out := s.run("events", "--limit=1"); strings.Count(out, "\n") != 1 || !strings.Contains(out, "  45  ") {
		t.Errorf("the newest is\n%s", out)
	}
	if out := s.run("events", "superset/main"); strings.Contains(out, "shop") || strings.Count(out, "\n") != 3 {
		t.Errorf("those of one resource are\n%s", out)
	}
	s.app = realClock
	if out := s.run("events", "--since=42"); strings.Count(out, "\n") != 2 || !strings.HasPrefix(out, "2026-03-01T11:57:00Z  44  ") {
		t.Errorf("those after 42 are\n%s", out)
	}
	api.Expire(44)
	s.fail("Gone", "events", "--since=41")
	api.Fail(http.StatusForbidden, "Forbidden", "You may not.")
	s.fail("the status API returned Forbidden: You may not.", "events", "-f")
}

func TestEventsFollowAcrossReconnects(t *testing.T) {
	s, api := asReader(t)
	s.app = realClock
	ctx, stop := context.WithCancel(t.Context())
	done := s.background(ctx, "events", "-f", "--since=44", "-o", "json")
	lines := func(n int) func() error {
		return func() error {
			if out := s.out.String(); strings.Count(out, "\n") != n {
				return fmt.Errorf("%d lines are wanted\n%s%s", n, out, s.err)
			}
			return nil
		}
	}
	expect.Eventually(t, expect.Long, lines(1))
	api.Disconnect()
	next := lifecycleEvents(s.namespace)[2]
	next.Sequence = 46
	api.Publish(next)
	expect.Eventually(t, expect.Long, lines(2))
	stop()
	if err := <-done; err != nil {
		t.Errorf("interrupted feed: got %v, want nil", err)
	}
	var last statusapi.HistoryEvent
	text := strings.Split(strings.TrimSpace(s.out.String()), "\n")
	if err := json.Unmarshal([]byte(text[1]), &last); err != nil || last.Sequence != 46 || last.Object.Name != "main" {
		t.Errorf("got %+v, %v", last, err)
	}
}

func TestEventsFollowContinuesAfterGap(t *testing.T) {
	s, api := asReader(t)
	s.app = realClock
	api.Expire(44)
	ctx, stop := context.WithCancel(t.Context())
	done := s.background(ctx, "events", "-f", "--since=3")
	expect.Eventually(t, expect.Long, func() error {
		if !strings.Contains(s.err.String(), "events are missing here") {
			return fmt.Errorf("no output yet: %q", s.err)
		}
		next := lifecycleEvents(s.namespace)[2]
		next.Sequence = 45 + uint64(len(api.Requests())) // the feed does not show events from before its reconnect
		api.Publish(next)
		if s.out.String() == "" {
			return fmt.Errorf("no event received: %q", s.err)
		}
		return nil
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
