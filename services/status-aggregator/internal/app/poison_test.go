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

// rejectedMessage is one message that must be rejected.
type rejectedMessage struct {
	subject string // suffix after the stream's prefix and the cluster
	body    []byte
	cause   string
}

// Every invalid message is counted and stored as a dead letter with its cause and origin, and all other messages are processed.
func TestInvalidMessagesBecomeDeadLetters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.raiseSizeLimit()
	r := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	u := f.superset("main")
	valid := o.observation(u, 0)
	prefix := f.namespace + ".superset."
	cases := map[string]rejectedMessage{
		"not parsable":                  {prefix + "a.superset-operator", []byte("not json"), "malformed"},
		"not UTF-8":                     {prefix + "b.superset-operator", []byte("\xff\xfe\x00"), "malformed"},
		"without data":                  {prefix + "c.superset-operator", []byte(`{"specversion":"1.0","id":"1","source":"s","type":"dev.flotilla.observation.v1"}`), "malformed"},
		"of an unknown version":         {prefix + "d.superset-operator", []byte(strings.Replace(string(f.encode(valid)), "observation.v1", "observation.v2", 1)), "unsupported"},
		"too large":                     {prefix + "e.superset-operator", []byte(strings.Repeat("x", contract.MaxMessageBytes+1)), "oversize"},
		"of another object":             {prefix + "f.superset-operator", f.encode(valid), "forged"},
		"of another observer's object":  {prefix + "main.engine-operator", f.encode(valid), "observer"},
		"of an unknown observer":        {prefix + "main.somebody", []byte("{}"), "observer"},
		"of an unknown kind":            {f.namespace + ".nonsense.main.superset-operator", f.encode(valid), "subject"},
		"of a kind that is not managed": {f.namespace + ".project.main.ingester", f.encode(valid), "kind"},
		"with a name of many tokens":    {prefix + "main.v2.superset-operator", f.encode(valid), "subject"},
		"with a name like a wildcard":   {prefix + "ma*n.superset-operator", f.encode(valid), "subject"},
		"with a name in upper case":     {prefix + "MAIN.superset-operator", f.encode(valid), "subject"},
		"with an invalid name":          {prefix + "-rm-rf-.superset-operator", f.encode(valid), "subject"},
	}
	want := map[string]string{}
	for name, p := range cases {
		subject := contract.ObservationPrefix + "." + clusterName + "." + p.subject
		if _, err := f.conn.JetStream().Publish(t.Context(), subject, p.body); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want[subject] = "flotilla.dlq.v1.flotilla-obs." + p.cause
	}
	heartbeatPrefix := contract.HeartbeatPrefix + "." + clusterName + "."
	for observer, body := range map[string]string{"x": "{", "superset-operator": string(f.encode(valid))} {
		if _, err := f.conn.JetStream().Publish(t.Context(), heartbeatPrefix+observer, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	want[heartbeatPrefix+"x"] = "flotilla.dlq.v1.flotilla-hb.malformed"
	want[heartbeatPrefix+"superset-operator"] = "flotilla.dlq.v1.flotilla-hb.unsupported"

	o.observe(u, 2)
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	expect.Eventually(t, expect.Long, func() error {
		if diff := cmp.Diff(want, f.deadLetters()); diff != "" {
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

// raiseSizeLimit makes the stream accept messages that an installation with other limits would accept.
func (f *fixture) raiseSizeLimit() {
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

// deadLetters returns the dead letters: original subject by current subject.
func (f *fixture) deadLetters() map[string]string {
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
