package ingest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

const cluster = "prod"

var sent = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func managed(t testing.TB) registry.Set {
	t.Helper()
	kinds, err := registry.Managed()
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// observationOf returns a valid message after a change, and its subject.
func observationOf(t testing.TB, change func(*contract.Event, *contract.Observation)) (string, []byte) {
	t.Helper()
	o := contract.Observation{
		Object: contract.Object{
			GroupVersionKind: contract.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"},
			Namespace:        "team-a", Name: "main.v2", UID: "uid-1", Generation: 1, ResourceVersion: "10",
		},
		Observer: contract.Observer{Name: "superset-operator", Instance: "pod-1"},
		Epoch:    1000, Seq: 1, ObservedAt: sent, ValidForSeconds: 30,
	}
	e := contract.Event{ID: "uid-1.superset-operator.1000.1", Source: contract.Source(cluster, "superset-operator"), Time: sent}
	if change != nil {
		change(&e, &o)
	}
	body, err := contract.Encode(e, o)
	if err != nil {
		t.Fatal(err)
	}
	return "flotilla.obs.v1.prod.team-a.superset.main_v2.superset-operator", body
}

func TestObservation(t *testing.T) {
	cases := map[string]struct {
		subject string // replaces the valid one
		body    string // replaces the valid one
		change  func(*contract.Event, *contract.Observation)
		cause   string // empty: accepted
	}{
		"a good message":                               {},
		"fewer tokens than the contract has":           {subject: "flotilla.obs.v1.prod.superset.main.superset-operator", cause: causeSubject},
		"a lifecycle subject":                          {subject: "flotilla.lifecycle.v1.prod.team-a.superset.main_v2.phase", cause: causeSubject},
		"another cluster":                              {subject: "flotilla.obs.v1.test.team-a.superset.main_v2.superset-operator", cause: causeSubject},
		"an unknown kind token":                        {subject: "flotilla.obs.v1.prod.team-a.nonsense.main_v2.superset-operator", cause: causeSubject},
		"a kind without a row in the registry":         {subject: "flotilla.obs.v1.prod.team-a.project.main.ingester", cause: causeKind},
		"an observer that is not allowed for the kind": {subject: "flotilla.obs.v1.prod.team-a.superset.main_v2.engine-operator", cause: causeObserver},
		"no JSON":          {body: "\xff\xfe not json", cause: causeMalformed},
		"an empty message": {body: " ", cause: causeMalformed},
		"more than 64 KiB": {body: strings.Repeat("x", contract.MaxMessageBytes+1), cause: causeOversize},
		"another major version": {
			body:  `{"specversion":"1.0","id":"1","source":"s","type":"dev.flotilla.observation.v2","data":{}}`,
			cause: causeUnsupported,
		},
		"another namespace":   {change: func(_ *contract.Event, o *contract.Observation) { o.Object.Namespace = "team-b" }, cause: causeForged},
		"another name":        {change: func(_ *contract.Event, o *contract.Observation) { o.Object.Name = "other" }, cause: causeForged},
		"another kind":        {change: func(_ *contract.Event, o *contract.Observation) { o.Object.Kind = "FireboltEngine" }, cause: causeForged},
		"another group":       {change: func(_ *contract.Event, o *contract.Observation) { o.Object.Group = "evil" }, cause: causeForged},
		"another observer":    {change: func(_ *contract.Event, o *contract.Observation) { o.Observer.Name = "engine-operator" }, cause: causeForged},
		"another source":      {change: func(e *contract.Event, _ *contract.Observation) { e.Source = "/clusters/prod/observers/x" }, cause: causeForged},
		"no uid":              {change: func(_ *contract.Event, o *contract.Observation) { o.Object.UID = "" }, cause: causeMalformed},
		"no epoch":            {change: func(_ *contract.Event, o *contract.Observation) { o.Epoch = 0 }, cause: causeMalformed},
		"no seq":              {change: func(_ *contract.Event, o *contract.Observation) { o.Seq = 0 }, cause: causeMalformed},
		"a negative validity": {change: func(_ *contract.Event, o *contract.Observation) { o.ValidForSeconds = -1 }, cause: causeMalformed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			subject, body := observationOf(t, tc.change)
			if tc.subject != "" {
				subject = tc.subject
			}
			if tc.body != "" {
				body = []byte(tc.body)
			}
			ref, o, err := observation(managed(t), cluster, subject, body)
			if got := causeOf(err); got != tc.cause {
				t.Fatalf("cause %q (%v), want %q", got, err, tc.cause)
			}
			if tc.cause == "" && (ref.Name != "main.v2" || o.Object.UID != "uid-1") {
				t.Errorf("read %v %v", ref, o.Object)
			}
		})
	}
}

func TestHeartbeat(t *testing.T) {
	valid := contract.Heartbeat{Cluster: cluster, Observer: contract.Observer{Name: "superset-operator"}, Epoch: 1, IntervalSeconds: 10, SentAt: sent}
	cases := map[string]struct {
		subject   string
		heartbeat contract.Heartbeat
		cause     string
	}{
		"a good one":              {"flotilla.hb.v1.prod.superset-operator", valid, ""},
		"not a heartbeat subject": {"flotilla.hb.v1.prod", valid, causeSubject},
		"another observer's":      {"flotilla.hb.v1.prod.engine-operator", valid, causeForged},
		"another cluster's":       {"flotilla.hb.v1.test.superset-operator", valid, causeForged},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			body, err := contract.Encode(contract.Event{ID: "1", Source: "s", Time: sent}, tc.heartbeat)
			if err != nil {
				t.Fatal(err)
			}
			_, err = heartbeat(cluster, tc.subject, body)
			if got := causeOf(err); got != tc.cause {
				t.Errorf("cause %q (%v), want %q", got, err, tc.cause)
			}
		})
	}
}

func TestValidity(t *testing.T) {
	for interval, want := range map[int]time.Duration{10: 30 * time.Second, 0: 0, -5: 0, 1 << 40: time.Hour} {
		if got := validity(contract.Heartbeat{IntervalSeconds: interval}); got != want {
			t.Errorf("interval %d: %s, want %s", interval, got, want)
		}
	}
}

func FuzzObservation(f *testing.F) {
	subject, body := observationOf(f, nil)
	f.Add(subject, body)
	f.Add("flotilla.obs.v1.prod.*.superset.>.x", []byte("{}"))
	f.Fuzz(func(t *testing.T, subject string, body []byte) {
		ref, o, err := observation(managed(t), cluster, subject, body)
		if err == nil && (ref.Name != o.Object.Name || ref.Namespace != o.Object.Namespace || o.Object.UID == "") {
			t.Errorf("accepted %q: %v", subject, o.Object)
		}
	})
}

func causeOf(err error) string {
	if p, ok := errors.AsType[*rejection](err); ok {
		return p.cause
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// Prometheus sees no increase of a series that begins with its first count, and alerts watch these.
func TestDeadLettersBeginAtZero(t *testing.T) {
	r := prometheus.NewRegistry()
	m, err := metrics.New(r)
	if err != nil {
		t.Fatal(err)
	}
	newDeadLetterQueue(nil, m)
	if n, err := testutil.GatherAndCount(r, "flotilla_status_dead_letters_total"); err != nil || n != 2*len(causes) {
		t.Errorf("%d series, %v, want %d", n, err, 2*len(causes))
	}
}
