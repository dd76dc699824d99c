package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// entry reads the object's entry in the bucket.
func (f *fixture) entry(kind contract.Kind, u *unstructured.Unstructured) contract.StatusEntry {
	f.t.Helper()
	key, err := contract.Ref{Cluster: clusterName, Namespace: u.GetNamespace(), Kind: kind, Name: u.GetName()}.Key()
	if err != nil {
		f.t.Fatal(err)
	}
	kv, err := f.conn.JetStream().KeyValue(f.t.Context(), contract.BucketStatus)
	if err != nil {
		f.t.Fatal(err)
	}
	raw, err := kv.Get(f.t.Context(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	var e contract.StatusEntry
	if err := json.Unmarshal(raw.Value(), &e); err != nil {
		f.t.Fatal(err)
	}
	return e
}

func TestObservationsBecomeConditionsAndEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})

	u := f.superset("main")
	o.phase(u, "Initializing")
	o.observe(u, 0)
	f.condition(u, conditions.TypeAvailable, "False", conditions.ReasonInsufficientReplicas)
	o.phase(u, "Running")
	o.observe(u, 2)
	c := f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	f.condition(u, conditions.TypeReady, "True", conditions.ReasonAllComponentsReady)
	if c.ObservedGeneration != u.GetGeneration() {
		t.Errorf("Available is of generation %d, the object of %d", c.ObservedGeneration, u.GetGeneration())
	}
	expect.Eventually(t, expect.Long, func() error {
		e := f.entry(contract.Superset, u)
		if e.Phase != "Running" || e.LastTransitionSeq != 2 || e.DeployedVersion != "6.0.0" || e.Provenance.Observer.Name != o.name {
			return fmt.Errorf("entry %+v", e)
		}
		return nil
	})
	got := f.history()
	want := []string{"main phase Initializing", "main snapshot Initializing", "main phase Running", "main available Available=True"}
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("history begins (-want +got):\n%s", diff)
	}

	idleRequests := r.requests.count.Load()
	version := u.GetResourceVersion()
	o.observations.Publish(contract.Superset, o.observation(u, 2)) // nothing new
	expect.Never(t, 2*time.Second, func() error {
		f.read(u)
		if n := r.requests.count.Load(); n != idleRequests || u.GetResourceVersion() != version {
			return fmt.Errorf("%d requests, resourceVersion %s to %s", n-idleRequests, version, u.GetResourceVersion())
		}
		return nil
	})
	if err := f.client.Delete(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error {
		if h := f.history(); h[len(h)-1] != "main deleted" {
			return fmt.Errorf("history ends with %q", h[len(h)-1])
		}
		return nil
	})
	if n, err := testutil.GatherAndCount(r.registry, "flotilla_status_condition"); err != nil || n != 0 {
		t.Errorf("%d series of a deleted object remain, %v", n, err)
	}
}

func TestStaleObserverMakesConditionsUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	o, u, flips := f.available()
	o.stopHeartbeats()
	f.condition(u, conditions.TypeAvailable, "Unknown", conditions.ReasonObserverStale)
	o.sendHeartbeats()
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	flips.want(t, conditions.TypeAvailable, "True", "Unknown", "True")
}

// Two shards of an operator: the objects of the one that ends are reported, although the operator is alive, until another
// process observes them.
func TestInactiveShardMakesItsConditionsUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inactivity = 3 * time.Second
	f.start()
	first := f.operator("superset-operator", contract.Superset)
	second := f.operatorWithClock("superset-operator", contract.Superset, time.Second) // another epoch
	f.leading(time.Time{})
	a, b := f.superset("a"), f.superset("b")
	flips := f.record(b)
	first.observe(a, 2)
	second.observe(b, 2)
	f.condition(a, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	f.condition(b, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	first.stopHeartbeats()
	f.condition(a, conditions.TypeAvailable, "Unknown", conditions.ReasonObserverStale)
	f.operatorWithClock("superset-operator", contract.Superset, 2*time.Second).observe(a, 2)
	f.condition(a, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	flips.want(t, conditions.TypeAvailable, "True")
}

func TestRecreatedObjectHasOwnHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	first := f.superset("main")
	o.observe(first, 2)
	f.condition(first, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	if err := f.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	u := f.superset("main")
	flips := f.record(u)
	o.observe(u, 0)
	f.condition(u, conditions.TypeAvailable, "False", conditions.ReasonInsufficientReplicas)
	f.publish(o.observation(first, 2)) // an observation of the deleted object
	expect.Eventually(t, expect.Long, func() error {
		if n := f.running.metric(t, "flotilla_status_observations_total", map[string]string{"outcome": "applied"}); n < 3 {
			return fmt.Errorf("%v observations applied", n)
		}
		return nil
	})
	// The recorder's watch may lag behind the previous read.
	flips.want(t, conditions.TypeAvailable, "False")
	expect.Never(t, time.Second, func() error {
		if got := flips.of(conditions.TypeAvailable); got != "[False]" {
			return fmt.Errorf("Available was %s", got)
		}
		return nil
	})
	h := f.history()
	if diff := cmp.Diff([]string{"main snapshot", "main deleted", "main snapshot"}, h); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestKindInstalledLater(t *testing.T) {
	f := newFixture(t)
	r := f.start()
	o := f.operator("engine-operator", contract.FireboltEngine)
	f.leading(time.Time{})
	kubectl := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), f.cluster.Tools.Path("kubectl"), append([]string{"--kubeconfig", f.cluster.Kubeconfig}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	// Simulate an earlier CRD, without defaults for the operator's fields. It is
	// never served with them, so no object is created under another schema.
	const status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/"
	earlier := kubectl("patch", "--local", "-f", "../../../engine-operator/config/crd/compute.firebolt.io_fireboltengines.yaml", "-o", "yaml",
		"--type", "json", "--patch", `[
		{"op": "remove", "path": "`+status+`activeGeneration/default"},
		{"op": "remove", "path": "`+status+`currentGeneration/default"}]`)
	definition := filepath.Join(t.TempDir(), "engines.yaml")
	if err := os.WriteFile(definition, earlier, 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl("apply", "--server-side", "-f", definition)
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"instanceRef": "instance", "replicas": int64(2),
	}}}
	u.SetGroupVersionKind(engineKind)
	u.SetNamespace(f.namespace)
	u.SetName("engine")
	expect.Eventually(t, expect.Long, func() error { return f.client.Create(t.Context(), u) })
	o.observe(u, 2)
	// The schema rejects a status without the operator's own fields; with them it accepts the conditions.
	expect.Eventually(t, expect.Long, func() error {
		if n := r.metric(t, "flotilla_status_condition_writes_total", map[string]string{"outcome": "refused"}); n == 0 {
			return errors.New("no write was rejected")
		}
		return nil
	})
	f.read(u)
	if _, err := ownedstatus.New(f.client, o.name).Apply(t.Context(), u, map[string]any{
		"phase": "stable", "currentGeneration": 0, "activeGeneration": 0,
	}); err != nil {
		t.Fatal(err)
	}
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	if present, err := expect.Conditions(u); err != nil || len(present) != 6 {
		t.Errorf("conditions %v, %v: want the six", present, err)
	}

	crd := &unstructured.Unstructured{}
	crd.SetName("fireboltengines.compute.firebolt.io")
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := f.client.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	f.wantHistory("engine snapshot", "engine deleted")
}

// encode returns the message of an observation from a long time ago.
func (f *fixture) encode(o contract.Observation) []byte {
	f.t.Helper()
	o.Observer.Name, o.Epoch, o.Seq = "superset-operator", 1, 99
	body, err := contract.Encode(contract.Event{
		ID: o.Object.UID + ".99", Time: time.Now(),
		Source: contract.Source(clusterName, o.Observer.Name),
	}, o)
	if err != nil {
		f.t.Fatal(err)
	}
	return body
}

// publish publishes an observation without the publisher.
func (f *fixture) publish(o contract.Observation) {
	f.t.Helper()
	subject := fmt.Sprintf("flotilla.obs.v1.%s.%s.superset.%s.superset-operator", clusterName, f.namespace, o.Object.Name)
	if _, err := f.conn.JetStream().Publish(f.t.Context(), subject, f.encode(o)); err != nil {
		f.t.Fatal(err)
	}
}
