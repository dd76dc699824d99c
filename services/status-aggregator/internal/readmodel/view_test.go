package readmodel_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel/readmodeltest"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

var (
	available   = readmodeltest.Condition("Available", "True", "AllComponentsReady", 0)
	unavailable = readmodeltest.Condition("Available", "False", "InsufficientReplicas", 5)
	degraded    = readmodeltest.Condition("Degraded", "True", "CrashLoop", 6)
	healthy     = readmodeltest.Condition("Degraded", "False", "Healthy", 0)
)

// wantNames waits until a list contains exactly these names.
func wantNames(t *testing.T, l *readmodeltest.Env, f readmodel.Filter, want ...string) {
	t.Helper()
	f.Namespace = l.Namespace
	expect.Eventually(t, expect.Long, func() error {
		list, err := l.View.List(f)
		if err != nil {
			return err
		}
		got := []string{}
		for _, r := range list {
			got = append(got, r.Object.Name)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("list is %q, want %q", got, want)
		}
		return nil
	})
}

// detail waits until the details of one object pass a check.
func detail(t *testing.T, l *readmodeltest.Env, name string, events int, check func(statusapi.ResourceDetail) error) statusapi.ResourceDetail {
	t.Helper()
	var d statusapi.ResourceDetail
	expect.Eventually(t, expect.Long, func() error {
		var err error
		if d, err = l.View.Detail(t.Context(), l.Namespace, contract.Superset, name, events); err != nil {
			return err
		}
		return check(d)
	})
	return d
}

func TestListFollowsCluster(t *testing.T) {
	l := readmodeltest.New(t, nil)
	b := l.Superset("b", unavailable, degraded)
	l.Superset("a", available, healthy)
	wantNames(t, l, readmodel.Filter{}, "a", "b")
	wantNames(t, l, readmodel.Filter{Conditions: []readmodel.ConditionFilter{{Type: "Degraded", Status: "True"}}}, "b")
	wantNames(t, l, readmodel.Filter{Conditions: []readmodel.ConditionFilter{{Type: "Degraded"}, {Type: "Available", Status: "True"}}}, "a")
	wantNames(t, l, readmodel.Filter{Conditions: []readmodel.ConditionFilter{{Type: "Paused"}}})
	wantNames(t, l, readmodel.Filter{Kind: contract.FireboltEngine})
	l.SetStatus(b, "Running", available, healthy)
	wantNames(t, l, readmodel.Filter{Conditions: []readmodel.ConditionFilter{{Type: "Degraded", Status: "True"}}})
	l.Delete(b)
	wantNames(t, l, readmodel.Filter{}, "a")
	if _, err := l.View.Detail(t.Context(), l.Namespace, contract.Superset, "b", 1); !errors.Is(err, readmodel.ErrNotFound) {
		t.Errorf("got %v of a deleted object", err)
	}
}

func TestDetailMergesAllSources(t *testing.T) {
	l := readmodeltest.New(t, nil)
	o := l.Superset("main", unavailable, degraded)
	seen := readmodeltest.Observation(o)
	provenance := &contract.Provenance{Observer: seen.Observer, Epoch: seen.Epoch, Seq: seen.Seq, ReceivedAt: readmodeltest.Start, Evidence: []string{"webServer: 1 of 2"}}
	updated := readmodeltest.Start.Add(time.Hour)
	l.Entry(contract.StatusEntry{Object: o, Phase: "Running", Provenance: provenance, DeployedVersion: "6.0.0", UpdatedAt: updated})
	l.Observation(seen)
	former := o
	former.UID = "of-before"
	l.Event(contract.Lifecycle{Object: former, Event: contract.EventDeleted})
	other := o
	other.Name = "other"
	l.Event(contract.Lifecycle{Object: other, Event: contract.EventDeleted})
	l.Event(contract.Lifecycle{Object: o, Event: contract.EventSnapshot, Conditions: []contract.Condition{available, healthy}})
	l.PublishChange(o, contract.EventUnavailable, available, unavailable)
	last := l.PublishChange(o, contract.EventDegraded, healthy, degraded)

	d := detail(t, l, "main", 10, func(d statusapi.ResourceDetail) error {
		if d.Provenance == nil || len(d.Resource.Conditions) != 2 {
			return fmt.Errorf("detail %+v", d)
		}
		return nil
	})
	if diff := cmp.Diff(provenance, d.Provenance); diff != "" {
		t.Errorf("provenance (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&seen, d.Observation); diff != "" {
		t.Errorf("observation (-want +got):\n%s", diff)
	}
	r := d.Resource
	if r.DeployedVersion != "6.0.0" || r.Phase != "Running" || !r.UpdatedAt.Equal(updated) || r.Kind != contract.Superset || r.Cluster != readmodeltest.Cluster {
		t.Errorf("resource %+v", r)
	}
	if got := fmt.Sprint(eventsOf(d)); got != "[snapshot unavailable degraded]" || d.HistoryTruncated || d.Incomplete != "" {
		t.Errorf("history %s, truncated %v, incomplete %q", got, d.HistoryTruncated, d.Incomplete)
	}
	d = detail(t, l, "main", 2, func(statusapi.ResourceDetail) error { return nil })
	if got := fmt.Sprint(eventsOf(d)); got != "[unavailable degraded]" || !d.HistoryTruncated || d.History[1].Sequence != last {
		t.Errorf("the newest two are %s, truncated %v, last at %d", got, d.HistoryTruncated, d.History[1].Sequence)
	}
}

func eventsOf(d statusapi.ResourceDetail) []contract.LifecycleEvent {
	var out []contract.LifecycleEvent
	for _, e := range d.History {
		out = append(out, e.Event)
	}
	return out
}

// An entry or an observation of an earlier incarnation, or of another observer, is omitted.
func TestDetailOmitsForeignEntries(t *testing.T) {
	l := readmodeltest.New(t, nil)
	o := l.Superset("main", available)
	former := o
	former.UID = "of-before"
	l.Entry(contract.StatusEntry{Object: former, DeployedVersion: "5.0.0", UpdatedAt: readmodeltest.Start})
	l.Observation(readmodeltest.Observation(former))
	forged := readmodeltest.Observation(o)
	forged.Observer.Name = "engine-operator"
	l.Observation(forged)
	detail(t, l, "main", 10, func(d statusapi.ResourceDetail) error {
		if d.Provenance != nil || d.Observation != nil || d.Resource.DeployedVersion != "" || d.Resource.UpdatedAt != nil || d.Incomplete != "" {
			return fmt.Errorf("detail %+v", d)
		}
		return nil
	})
	subject, err := contract.ObservationSubject(readmodeltest.Ref(o), "superset-operator")
	if err != nil {
		t.Fatal(err)
	}
	l.Raw(subject, []byte("no observation"))
	detail(t, l, "main", 10, func(d statusapi.ResourceDetail) error {
		if d.Observation != nil || d.Incomplete == "" {
			return fmt.Errorf("detail of poison %+v", d)
		}
		return nil
	})
}

func TestDetailWithoutBusShowsCluster(t *testing.T) {
	l := readmodeltest.New(t, nil)
	o := l.Superset("main", available)
	l.Entry(contract.StatusEntry{Object: o, DeployedVersion: "6.0.0", UpdatedAt: readmodeltest.Start})
	detail(t, l, "main", 1, func(d statusapi.ResourceDetail) error {
		if d.Resource.DeployedVersion == "" {
			return errors.New("no entry yet")
		}
		return nil
	})
	l.NATS.Stop()
	l.SetStatus(o, "Running", unavailable)
	l.Superset("new", degraded)
	wantNames(t, l, readmodel.Filter{Conditions: []readmodel.ConditionFilter{{Type: "Available", Status: "False"}}}, "main")
	wantNames(t, l, readmodel.Filter{}, "main", "new")
	detail(t, l, "main", 1, func(d statusapi.ResourceDetail) error {
		if d.Incomplete == "" || d.Resource.DeployedVersion != "6.0.0" || len(d.History) != 0 || d.Resource.Conditions[0].Status != "False" {
			return fmt.Errorf("detail without a bus %+v", d)
		}
		return nil
	})
	l.NATS.Wipe()
	l.Bootstrap()
	l.Entry(contract.StatusEntry{Object: o, DeployedVersion: "6.1.0", UpdatedAt: readmodeltest.Start})
	detail(t, l, "main", 1, func(d statusapi.ResourceDetail) error {
		if d.Incomplete != "" || d.Resource.DeployedVersion != "6.1.0" {
			return fmt.Errorf("detail with a bus that lost everything %+v", d)
		}
		return nil
	})
}

func TestDetailDropsDeletedEntry(t *testing.T) {
	l := readmodeltest.New(t, nil)
	o := l.Superset("main", available)
	checkProvenance := func(want bool) {
		t.Helper()
		detail(t, l, "main", 1, func(d statusapi.ResourceDetail) error {
			if got := d.Resource.UpdatedAt != nil; got != want {
				return fmt.Errorf("entry is there: %v", got)
			}
			return nil
		})
	}
	l.Entry(contract.StatusEntry{Object: o, UpdatedAt: readmodeltest.Start})
	checkProvenance(true)
	if err := l.Bucket().Delete(t.Context(), readmodeltest.Ref(o).String()); err != nil {
		t.Fatal(err)
	}
	checkProvenance(false)
}

// A kind may be installed, removed and installed again while the view runs and while the
// aggregator's watcher stops the informer that both use.
func TestViewFollowsRemovedKind(t *testing.T) {
	l := readmodeltest.New(t, nil)
	l.Run(observe.New(observe.Config{
		Cache: l.Cache, APIReader: l.Client, Kinds: l.Kinds, Cluster: readmodeltest.Cluster, Clock: clock.RealClock{},
		Publishing: func() bool { return true }, OnObject: func(contract.Ref) {}, OnKind: func(registry.Kind) {},
	}).Start)
	engine := func() *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltEngine"})
		u.SetNamespace(l.Namespace)
		u.SetName("engine")
		u.Object["spec"] = map[string]any{"instanceRef": "main", "replicas": int64(1)}
		return u
	}
	for range 3 {
		crd := crdOf(t, "../../../engine-operator/config/crd/compute.firebolt.io_fireboltengines.yaml")
		if err := l.Client.Create(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
		u := engine()
		expect.Eventually(t, expect.Long, func() error { return l.Client.Create(t.Context(), u) })
		wantNames(t, l, readmodel.Filter{Kind: contract.FireboltEngine}, "engine")
		if err := l.Client.Delete(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
		expect.Deleted(t, l.Client, crd)
		wantNames(t, l, readmodel.Filter{Kind: contract.FireboltEngine})
	}
}

func crdOf(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), len(raw)).Decode(u); err != nil {
		t.Fatal(err)
	}
	return u
}
