package cli

import (
	"context"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statustest"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
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
					Failures: []contract.Failure{{Class: contract.FailureCrashLoop, Count: 2, Examples: []string{"main-web-1", "main-web-2"}, Message: "exit code 1"}},
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
