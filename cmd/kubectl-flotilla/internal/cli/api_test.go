package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statustest"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// aggregator starts a status API that accepts the tokens of the API server.
func aggregator(t *testing.T) *statustest.Server {
	t.Helper()
	s := statustest.Start(t)
	kube, err := kubernetes.NewForConfig(cluster.Get(t).Config)
	if err != nil {
		t.Fatal(err)
	}
	s.ValidToken = func(token string) bool {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		response, err := kube.AuthenticationV1().TokenReviews().Create(context.WithoutCancel(t.Context()), review, metav1.CreateOptions{})
		return err == nil && response.Status.Authenticated
	}
	t.Setenv(envStatusURL, s.URL)
	return s
}

func contractObject(kind contract.Kind, namespace, name string) contract.Object {
	gvk, _ := contract.Lookup(kind)
	return contract.Object{GroupVersionKind: gvk, Namespace: namespace, Name: name, UID: "uid-" + name, Generation: 1}
}

// detail returns the API's details of superset/main of fleet.yaml.
func detail(namespace string) statusapi.ResourceDetail {
	observed := contractObject(contract.Superset, namespace, "main")
	return statusapi.ResourceDetail{
		Resource: statusapi.Resource{Cluster: "test", Kind: contract.Superset, Object: observed, Conditions: []contract.Condition{}},
		Provenance: &contract.Provenance{
			Observer: contract.Observer{Name: "superset-operator", Instance: "superset-operator-7d9f", Version: "0.4.0"},
			Epoch:    1772355600000, Seq: 12, ReceivedAt: noon.Add(-2 * time.Second), Evidence: []string{"webServer: 2 pods in CrashLoop", "webServer: 0 of 2 available"},
		},
		Observation: &contract.Observation{
			Object:    observed,
			Reconcile: contract.Reconcile{Outcome: contract.Failed, Reason: "ApplyRefused", Message: "the quota is used up", Since: new(noon.Add(-4 * time.Minute))},
			Units: []contract.Unit{
				{
					Name: "webServer", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true, Desired: 2, Current: 2, Updated: 2, Stalled: true,
					Failures: []contract.Failure{{Class: contract.FailureCrashLoop, Count: 2, Examples: []string{"main-web-1", "main-web-2"}, Message: "exit code 1\x1b[31m"}},
				},
				{Name: "celeryWorker", Kind: "Deployment", Role: contract.Serving, Desired: 1},
			},
			Jobs:            []contract.Job{{Name: "main-init", State: contract.JobRunning, Message: "attempt 2"}},
			Dependencies:    []contract.Dependency{{Kind: "FireboltEngine", Name: "shop", Ready: false, Message: "draining"}},
			UpgradeBlockers: []string{"A task runs."},
		},
	}
}

// lifecycleEvents returns events of superset/main and of another resource.
func lifecycleEvents(namespace string) []statustest.Event {
	main, shop := contractObject(contract.Superset, namespace, "main"), contractObject(contract.FireboltEngine, namespace, "shop")
	up := contract.Condition{Type: "Available", Status: "True", Reason: "AllComponentsReady"}
	down := contract.Condition{Type: "Available", Status: "False", Reason: "InsufficientReplicas", Message: "webServer: 0 of 2 replicas are available."}
	return []statustest.Event{
		{Sequence: 41, Time: noon.Add(-3 * time.Hour), Lifecycle: contract.Lifecycle{Object: main, Event: contract.EventSnapshot, Gap: true, Conditions: []contract.Condition{up}, Message: "The history is missing."}},
		{Sequence: 42, Time: noon.Add(-2 * time.Hour), Lifecycle: contract.Lifecycle{Object: shop, Event: contract.EventPhase, Phase: &contract.PhaseChange{Seq: 3, From: "switching", To: "draining", Reason: "Switched"}}},
		{Sequence: 44, Time: noon.Add(-3 * time.Minute), Lifecycle: contract.Lifecycle{Object: main, Event: contract.EventUnavailable, Condition: &contract.ConditionChange{Type: "Available", Before: &up, After: down}}},
		{Sequence: 45, Time: noon.Add(-3 * time.Minute), Lifecycle: contract.Lifecycle{Object: main, Event: contract.EventPhase, Phase: &contract.PhaseChange{Seq: 3, From: "Running", To: "Degraded", Reason: "ComponentsNotReady", Message: "Components are not ready: webServer."}}},
	}
}

// asReader returns a shell of a user with a token, and an aggregator with the fleet.
func asReader(t *testing.T, changes ...func(*statusapi.ResourceDetail)) (*shell, *statustest.Server) {
	t.Helper()
	ns := cluster.Get(t).Namespace(t)
	create(t, ns, "fleet.yaml")
	api := aggregator(t)
	main := detail(ns)
	for _, change := range changes {
		change(&main)
	}
	api.Add(1, main, statusapi.ResourceDetail{Resource: statusapi.Resource{
		Kind: contract.FireboltEngine, Object: contractObject(contract.FireboltEngine, ns, "shop"), Conditions: []contract.Condition{},
	}})
	api.Publish(lifecycleEvents(ns)...)
	s := newShell(t, ns)
	s.kubeconfig = withToken(t, reader(t, ns), ns, ns)
	return s, api
}

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

func TestPageAddsCallerCredentials(t *testing.T) {
	s, _ := asReader(t)
	admin := newShell(t, s.namespace)
	for name, tc := range map[string]struct {
		shell *shell
		args  []string
	}{
		"a token":                               {s, nil},
		"a certificate, through ServiceAccount": {admin, []string{"--service-account=reader"}},
	} {
		t.Run(name, func(t *testing.T) {
			opened := make(chan string, 1)
			tc.shell.app = func(a *App) {
				realClock(a)
				a.Browse = func(_ context.Context, address string) error { opened <- address; return nil }
			}
			ctx, stop := context.WithCancel(t.Context())
			done := tc.shell.background(ctx, append([]string{"page"}, tc.args...)...)
			address := <-opened
			if body := read(t, address); body != statustest.Page {
				t.Errorf("the page is %q", body)
			}
			if body := read(t, address+"api/v1/resources?kind=superset"); !strings.Contains(body, `"name":"main"`) {
				t.Errorf("the resources are %q", body)
			}
			if !strings.Contains(tc.shell.out.String(), "Status page: "+address) {
				t.Errorf("printed is %q", tc.shell.out)
			}
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPageReportsErrors(t *testing.T) {
	s, api := asReader(t)
	admin := newShell(t, s.namespace)
	admin.fail("a client certificate or a password ends at the API server. Name a ServiceAccount", "page")
	admin.fail(`serviceaccounts "missing" not found`, "page", "--service-account=missing")
	s.fail("--as ends at the API server", "page", "--as=jane")
	s.fail("would send your credentials unencrypted", "page", "--status-url=http://status.example.org")
	s.fail("connect to the status API", "page", "--status-url=http://127.0.0.1:1")
	api.ValidToken = func(string) bool { return false }
	s.fail("the API server does not accept your token", "page")
	t.Setenv(envStatusURL, "")
	admin.fail(`no Service status-aggregator in namespace "elsewhere"`, "page", "--flotilla-namespace=elsewhere")
}

func read(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
