package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// With lost acknowledgments each message is stored once, both an
// operator's observation and the aggregator's entry and events.
func TestLostAcknowledgmentsStoreNoDuplicates(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"superset-operator", Name} {
		t.Run("on the way to "+client, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			link := f.link(client)
			f.start()
			o, u, flips := f.available()
			f.wantHistory("main snapshot")

			link.dropResponses()
			o.observe(u, 1)
			expect.Eventually(t, expect.Long, func() error {
				if obs, err := f.latestObservation("main"); err != nil || obs.Units[0].Available != 1 {
					return errors.Join(fmt.Errorf("not stored yet: %+v", obs), err)
				}
				return nil
			})
			link.restore()
			f.condition(u, conditions.TypeAvailable, "False", conditions.ReasonInsufficientReplicas)
			o.observe(u, 2)
			flips.want(t, conditions.TypeAvailable, "True", "False", "True")
			f.wantHistory("main snapshot",
				"main unavailable Available=False", "main progressing Progressing=True", "main notupgradable Upgradable=False",
				"main available Available=True", "main settled Progressing=False", "main upgradable Upgradable=True")
		})
	}
}

// A state that recurs within the deduplication window is a third state, not a duplicate of the first.
func TestRepeatedStateIsNoDuplicate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	u := f.superset("main")
	flips := f.record(u)
	want := []string{}
	for _, available := range []int32{2, 1, 2, 1, 2} {
		o.observe(u, available)
		want = append(want, map[int32]string{2: "True", 1: "False"}[available])
		flips.want(t, conditions.TypeAvailable, want...)
	}
	expect.Eventually(t, expect.Long, func() error {
		received := 0
		for _, line := range f.history() {
			if line == "main available Available=True" || line == "main unavailable Available=False" {
				received++
			}
		}
		if received != 4 {
			return fmt.Errorf("%d flips of Available were published", received)
		}
		return nil
	})
}

// send publishes an observation directly, without the publisher and without an id.
func (o *operator) send(u *unstructured.Unstructured, available int32, seq uint64) {
	o.f.t.Helper()
	obs := o.observation(u, available)
	obs.Observer, obs.Epoch, obs.Seq = contract.Observer{Name: o.name, Instance: "pod"}, o.observations.Epoch(), seq
	body, err := contract.Encode(contract.Event{
		ID: fmt.Sprintf("%s.%d", u.GetUID(), seq), Time: time.Now(), Source: contract.Source(clusterName, o.name),
	}, obs)
	if err != nil {
		o.f.t.Fatal(err)
	}
	subject := fmt.Sprintf("flotilla.obs.v1.%s.%s.superset.%s.%s", clusterName, o.f.namespace, u.GetName(), o.name)
	if _, err := o.f.conn.JetStream().Publish(o.f.t.Context(), subject, body); err != nil {
		o.f.t.Fatal(err)
	}
}

// Duplicated and reordered messages lead to the same state as messages in order.
func TestDuplicatesAndReorderingAreHarmless(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	ordered, shuffled := f.superset("ordered"), f.superset("shuffled")
	const last = 20
	available := func(seq int) int32 { return int32(1 + seq%2) }
	var log []int
	for seq := 1; seq <= last; seq++ {
		o.send(ordered, available(seq+1), uint64(seq))
		log = append(log, seq, seq)
	}
	random := rand.New(rand.NewPCG(7, 7)) // reproducible
	random.Shuffle(len(log), func(i, j int) { log[i], log[j] = log[j], log[i] })
	for _, seq := range log {
		o.send(shuffled, available(seq+1), uint64(seq))
	}
	var ends [2][]contract.Condition
	for i, u := range []*unstructured.Unstructured{ordered, shuffled} {
		f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
		expect.Eventually(t, expect.Long, func() error {
			e := f.entry(contract.Superset, u)
			if e.Provenance.Seq != last {
				return fmt.Errorf("the entry is at seq %d, want %d", e.Provenance.Seq, last)
			}
			ends[i] = e.Conditions
			return nil
		})
	}
	if diff := cmp.Diff(ends[0], ends[1], cmpopts.IgnoreFields(contract.Condition{}, "LastTransitionTime")); diff != "" {
		t.Errorf("in order and shuffled differ:\n%s", diff)
	}
	f.history() // reports ids that are in the stream twice
}

// A late retry of an old message, which a restarted server no longer deduplicates,
// replaces the newer one in the stream and changes nothing.
func TestLateRetryAfterServerRestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.start()
	o, u, flips := f.available()
	o.send(u, 2, 7)
	expect.Eventually(t, expect.Long, func() error {
		if e := f.entry(contract.Superset, u); e.Provenance.Seq != 7 {
			return fmt.Errorf("the entry is at seq %d", e.Provenance.Seq)
		}
		return nil
	})
	f.stopNATS(r.conn)
	f.startNATS(r.conn)
	stale := func() float64 {
		return r.metric(t, "flotilla_status_observations_total", map[string]string{"outcome": "stale"})
	}
	before := stale()
	o.send(u, 1, 6)
	expect.Eventually(t, expect.Long, func() error {
		if now := stale(); now <= before {
			return fmt.Errorf("%v stale observations", now)
		}
		return nil
	})
	// The same holds for a process that has read only the current content of the stream.
	r.stop()
	since := time.Now()
	f.start()
	f.leading(since)
	o.send(u, 2, 8)
	expect.Eventually(t, expect.Long, func() error {
		if e := f.entry(contract.Superset, u); e.Provenance.Seq != 8 {
			return fmt.Errorf("the entry is at seq %d", e.Provenance.Seq)
		}
		return nil
	})
	flips.want(t, conditions.TypeAvailable, string(metav1.ConditionTrue))
}

// With a list of namespaces, observations and entries of others cause no request, error, condition or event.
func TestOtherNamespacesAreIgnored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.watched = []string{f.namespace}
	u := f.superset("main")
	other := u.DeepCopy()
	other.SetName("other")
	other.SetUID("00000000-0000-0000-0000-000000000001")
	other.SetNamespace(f.cluster.Namespace(t))
	f.putEntry(other)
	f.log = funcr.New(func(prefix, args string) {
		if strings.Contains(args, other.GetNamespace()) {
			t.Errorf("%s: %s", prefix, args)
		}
	}, funcr.Options{})
	r := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	read := func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.Path, "/"+other.GetNamespace()+"/") {
			t.Errorf("request of another namespace: %s %s", req.Method, req.URL.Path)
		}
		return nil
	}
	r.requests.respond.Store(&read)
	o.observe(other, 2)
	o.observe(u, 2)
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	expect.Eventually(t, expect.Long, func() error {
		if n := r.metric(t, "flotilla_status_observations_total", map[string]string{"outcome": "unwatched"}); n != 1 {
			return fmt.Errorf("%v observations counted as unwatched, want 1", n)
		}
		return nil
	})
	f.wantHistory("main snapshot")
}

// putEntry adds an entry of an object to the bucket, as an aggregator for all namespaces does.
func (f *fixture) putEntry(u *unstructured.Unstructured) {
	f.t.Helper()
	key, err := contract.Ref{Cluster: clusterName, Namespace: u.GetNamespace(), Kind: contract.Superset, Name: u.GetName()}.Key()
	if err != nil {
		f.t.Fatal(err)
	}
	entry, err := json.Marshal(contract.StatusEntry{Object: contract.Object{
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: string(u.GetUID()),
	}})
	if err != nil {
		f.t.Fatal(err)
	}
	kv, err := f.conn.JetStream().KeyValue(f.t.Context(), contract.BucketStatus)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := kv.Put(f.t.Context(), key, entry); err != nil {
		f.t.Fatal(err)
	}
}
