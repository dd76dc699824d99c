package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// poison is one message that must be rejected.
type poison struct {
	subject string // suffix after the stream's prefix and the cluster
	body    []byte
	cause   string
}

// Every invalid message is counted and stored as a dead letter with its cause and origin, and all other messages are processed.
func TestInvalidMessagesBecomeDeadLetters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.liftSizeLimit()
	r := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	u := f.superset("main")
	good := o.observation(u, 0)
	mine := f.namespace + ".superset."
	cases := map[string]poison{
		"not parsable":                  {mine + "a.superset-operator", []byte("not json"), "malformed"},
		"not UTF-8":                     {mine + "b.superset-operator", []byte("\xff\xfe\x00"), "malformed"},
		"without data":                  {mine + "c.superset-operator", []byte(`{"specversion":"1.0","id":"1","source":"s","type":"dev.flotilla.observation.v1"}`), "malformed"},
		"of an unknown version":         {mine + "d.superset-operator", []byte(strings.Replace(string(f.encode(good)), "observation.v1", "observation.v2", 1)), "unsupported"},
		"too large":                     {mine + "e.superset-operator", []byte(strings.Repeat("x", contract.MaxMessageBytes+1)), "oversize"},
		"of another object":             {mine + "f.superset-operator", f.encode(good), "forged"},
		"of another observer's object":  {mine + "main.engine-operator", f.encode(good), "observer"},
		"of an unknown observer":        {mine + "main.somebody", []byte("{}"), "observer"},
		"of an unknown kind":            {f.namespace + ".nonsense.main.superset-operator", f.encode(good), "subject"},
		"of a kind that is not managed": {f.namespace + ".project.main.ingester", f.encode(good), "kind"},
		"with a name of many tokens":    {mine + "main.v2.superset-operator", f.encode(good), "subject"},
		"with a name like a wildcard":   {mine + "ma*n.superset-operator", f.encode(good), "subject"},
		"with a name in upper case":     {mine + "MAIN.superset-operator", f.encode(good), "subject"},
		"with an invalid name":          {mine + "-rm-rf-.superset-operator", f.encode(good), "subject"},
	}
	want := map[string]string{}
	for name, p := range cases {
		subject := contract.ObservationPrefix + "." + clusterName + "." + p.subject
		if _, err := f.conn.JetStream().Publish(t.Context(), subject, p.body); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want[subject] = "flotilla.dlq.v1.flotilla-obs." + p.cause
	}
	beats := contract.HeartbeatPrefix + "." + clusterName + "."
	for who, body := range map[string]string{"x": "{", "superset-operator": string(f.encode(good))} {
		if _, err := f.conn.JetStream().Publish(t.Context(), beats+who, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	want[beats+"x"] = "flotilla.dlq.v1.flotilla-hb.malformed"
	want[beats+"superset-operator"] = "flotilla.dlq.v1.flotilla-hb.unsupported"

	o.observe(u, 2)
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	expect.Eventually(t, expect.Long, func() error {
		if diff := cmp.Diff(want, f.parked()); diff != "" {
			return fmt.Errorf("parked (-want +got):\n%s", diff)
		}
		return nil
	})
	if n := r.metric(t, "flotilla_status_observations_total", map[string]string{"outcome": "poison"}); n != float64(len(want)) {
		t.Errorf("%v counted as poison, want %d", n, len(want))
	}
	for cause, n := range map[string]float64{"malformed": 4, "unsupported": 2, "oversize": 1, "forged": 1, "observer": 2, "subject": 5, "kind": 1} {
		if got := r.metric(t, "flotilla_status_dead_letters_total", map[string]string{"cause": cause, "parked": "true"}); got != n {
			t.Errorf("%v dead letters of cause %s, want %v", got, cause, n)
		}
	}
}

// liftSizeLimit makes the stream accept messages that an installation with other limits would accept.
func (f *fixture) liftSizeLimit() {
	f.t.Helper()
	stream, err := f.conn.JetStream().Stream(f.t.Context(), contract.StreamObservations)
	if err != nil {
		f.t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgSize = -1
	if _, err := f.conn.JetStream().UpdateStream(f.t.Context(), cfg); err != nil {
		f.t.Fatal(err)
	}
}

// parked returns the dead letters: original subject by current subject.
func (f *fixture) parked() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	for _, m := range natstest.Messages(f.t, f.conn.JetStream(), contract.StreamDeadLetters) {
		out[m.Header.Get("Flotilla-Subject")] = m.Subject
		if m.Header.Get("Flotilla-Sequence") == "" || m.Header.Get("Flotilla-Stream") == "" {
			f.t.Errorf("a dead letter without its origin: %v", m.Header)
		}
	}
	return out
}
