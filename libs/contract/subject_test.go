package contract_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

var main = contract.Ref{Cluster: "prod", Namespace: "team-a", Kind: contract.Superset, Name: "main"}

func TestSubjects(t *testing.T) {
	dotted := contract.Ref{Cluster: "eu.prod", Namespace: "team-a", Kind: contract.FireboltEngine, Name: "my.engine.v2"}
	tests := map[string]struct {
		make func() (string, error)
		want string
	}{
		"observation": {func() (string, error) { return contract.ObservationSubject(main, "superset-operator") }, "flotilla.obs.v1.prod.team-a.superset.main.superset-operator"},
		"lifecycle":   {func() (string, error) { return contract.LifecycleSubject(main, contract.EventDegraded) }, "flotilla.lifecycle.v1.prod.team-a.superset.main.degraded"},
		"filter":      {func() (string, error) { return contract.LifecycleFilter(main) }, "flotilla.lifecycle.v1.prod.team-a.superset.main.*"},
		"change":      {func() (string, error) { return contract.ChangeSubject(main, contract.ChangeEvicted) }, "flotilla.change.v1.prod.team-a.superset.main.evicted"},
		"heartbeat":   {func() (string, error) { return contract.HeartbeatSubject("prod", "ingester") }, "flotilla.hb.v1.prod.ingester"},
		"dead letter": {func() (string, error) { return contract.DeadLetterSubject(contract.StreamObservations, "malformed") }, "flotilla.dlq.v1.flotilla-obs.malformed"},
		"key":         {main.Key, "prod.team-a.superset.main"},
		"dots":        {dotted.Key, "eu_prod.team-a.fireboltengine.my_engine_v2"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tc.make()
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// malicious are names that must never appear in a subject: each would add a token, a
// wildcard or a line, or be ambiguous after encoding.
var malicious = map[string]string{
	"nothing": "", "a wildcard": "*", "a full wildcard": ">", "a hidden wildcard": "a.*.b", "a token too many": "a..b",
	"a leading dot": ".a", "a trailing dot": "a.", "a space": "a b", "a tab": "a\tb", "a line break": "a\r\nPUB x 1", "a zero byte": "a\x00",
	"an underscore": "a_b", "upper case": "Main", "not ASCII": "ä", "not UTF-8": "\xff", "a leading hyphen": "-a", "a trailing hyphen": "a-",
	"a hyphen at a label's end": "a-.b", "a dollar": "$JS", "too long": strings.Repeat("a", 254), "a slash": "a/b", "a quote": `a"b`,
}

func TestSubjectsRejectHostileNames(t *testing.T) {
	for name, bad := range malicious {
		t.Run(name, func(t *testing.T) {
			encoders := map[string]func() (string, error){
				"token":       func() (string, error) { return contract.EncodeToken(bad) },
				"cluster":     contract.Ref{Cluster: bad, Namespace: "n", Kind: contract.Superset, Name: "a"}.Key,
				"namespace":   contract.Ref{Cluster: "c", Namespace: bad, Kind: contract.Superset, Name: "a"}.Key,
				"kind":        contract.Ref{Cluster: "c", Namespace: "n", Kind: contract.Kind(bad), Name: "a"}.Key,
				"name":        contract.Ref{Cluster: "c", Namespace: "n", Kind: contract.Superset, Name: bad}.Key,
				"observer":    func() (string, error) { return contract.ObservationSubject(main, bad) },
				"heartbeat":   func() (string, error) { return contract.HeartbeatSubject("prod", bad) },
				"event":       func() (string, error) { return contract.LifecycleSubject(main, contract.LifecycleEvent(bad)) },
				"operation":   func() (string, error) { return contract.ChangeSubject(main, contract.ChangeOperation(bad)) },
				"dead letter": func() (string, error) { return contract.DeadLetterSubject(contract.StreamLifecycle, bad) },
			}
			for where, encode := range encoders {
				if got, err := encode(); !errors.Is(err, contract.ErrInvalidSubject) {
					t.Errorf("%s: got %q and %v, want ErrInvalidSubject", where, got, err)
				}
			}
		})
	}
	if got := (contract.Ref{Cluster: "*"}).String(); got != "invalid" {
		t.Errorf("a reference that cannot be encoded reads %q", got)
	}
}

func TestSubjectsRoundTrip(t *testing.T) {
	for _, k := range contract.Kinds() {
		ref := contract.Ref{Cluster: "c.1", Namespace: "n-1", Kind: k, Name: "a.b-c.d"}
		subject, err := contract.ObservationSubject(ref, "op.x")
		if err != nil {
			t.Fatal(err)
		}
		prefix, got, last, err := contract.ParseObjectSubject(subject)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ref, got); diff != "" || prefix != contract.ObservationPrefix || last != "op.x" {
			t.Errorf("%s: prefix %q, last %q, object (-want +got):\n%s", subject, prefix, last, diff)
		}
		key, err := ref.Key()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := contract.ParseKey(key); err != nil || got != ref || got.String() != key {
			t.Errorf("key %q gives %v and %v", key, got, err)
		}
	}
	subject, err := contract.HeartbeatSubject("c.1", "op.x")
	if err != nil {
		t.Fatal(err)
	}
	if c, o, err := contract.ParseHeartbeatSubject(subject); err != nil || c != "c.1" || o != "op.x" {
		t.Errorf("%s gives %q, %q and %v", subject, c, o, err)
	}
}

func TestParseRejectsForeignSubjects(t *testing.T) {
	for name, subject := range map[string]string{
		"empty":                "",
		"another family":       "flotilla.dlq.v1.c.n.superset.a.b",
		"another major":        "flotilla.obs.v2.c.n.superset.a.op",
		"too few tokens":       "flotilla.obs.v1.c.n.superset.a",
		"too many tokens":      "flotilla.obs.v1.c.n.superset.a.op.more",
		"an unknown kind":      "flotilla.obs.v1.c.n.pod.a.op",
		"a wildcard":           "flotilla.obs.v1.c.*.superset.a.op",
		"an empty token":       "flotilla.obs.v1.c..superset.a.op",
		"a heartbeat too long": "flotilla.hb.v1.c.op.x",
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, _, err := contract.ParseObjectSubject(subject); !errors.Is(err, contract.ErrInvalidSubject) {
				t.Errorf("object subject: %v", err)
			}
			if _, _, err := contract.ParseHeartbeatSubject(subject); !errors.Is(err, contract.ErrInvalidSubject) {
				t.Errorf("heartbeat subject: %v", err)
			}
			if _, err := contract.ParseKey(subject); !errors.Is(err, contract.ErrInvalidSubject) {
				t.Errorf("key: %v", err)
			}
		})
	}
}

func TestKindRegistryIsConsistent(t *testing.T) {
	// A stored kind whose token is that of a managed one would replace it.
	for _, k := range []contract.Kind{contract.Superset, contract.FireboltEngine, contract.FireboltEngineClass, contract.FireboltInstance} {
		if k.Stored() || !slices.Contains(contract.Kinds(), k) {
			t.Errorf("%q is not a managed kind", k)
		}
	}
	if !contract.Kind("model").Stored() || contract.Kind("widget").Stored() {
		t.Error("want that a model is stored, and a widget is not")
	}
	for _, k := range contract.Kinds() {
		gvk, ok := contract.Lookup(k)
		if !ok || strings.ToLower(gvk.Kind) != string(k) {
			t.Errorf("token %q stands for %q", k, gvk.Kind)
		}
		if back, ok := contract.KindFor(gvk.Group, gvk.Kind); !ok || back != k {
			t.Errorf("%s %s has the token %q, want %q", gvk.Group, gvk.Kind, back, k)
		}
	}
	if _, ok := contract.KindFor("apps", "Deployment"); ok {
		t.Error("a Deployment of Kubernetes is treated as the Deployment of Michelangelo")
	}
}

func FuzzEncodeToken(f *testing.F) {
	for _, s := range malicious {
		f.Add(s)
	}
	f.Add("my.engine-1.v2")
	f.Fuzz(func(t *testing.T, name string) {
		token, err := contract.EncodeToken(name)
		if err != nil {
			return
		}
		if token == "" || strings.ContainsAny(token, ".*> \t\r\n\x00") {
			t.Errorf("%q became %q", name, token)
		}
		if back, err := contract.DecodeToken(token); err != nil || back != name {
			t.Errorf("%q became %q and then %q, %v", name, token, back, err)
		}
		subject, err := contract.ObservationSubject(contract.Ref{Cluster: name, Namespace: name, Kind: contract.Superset, Name: name}, name)
		if err != nil || strings.Count(subject, ".") != 7 {
			t.Errorf("subject %q, %v", subject, err)
		}
	})
}

func FuzzDecodeToken(f *testing.F) {
	for _, s := range malicious {
		f.Add(s)
	}
	f.Add("a_b")
	f.Fuzz(func(t *testing.T, token string) {
		name, err := contract.DecodeToken(token)
		if err != nil {
			return
		}
		if back, err := contract.EncodeToken(name); err != nil || back != token {
			t.Errorf("%q became %q and then %q, %v", token, name, back, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"flotilla.obs.v1.c.n.superset.a.op", "flotilla.hb.v1.c.op", "c.n.superset.a", "flotilla.change.v1.c.n.model.a_b.created", "....", "*.>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if prefix, ref, last, err := contract.ParseObjectSubject(s); err == nil {
			key, keyErr := ref.Key()
			token, tokenErr := contract.EncodeToken(last)
			if keyErr != nil || tokenErr != nil || prefix+"."+key+"."+token != s {
				t.Errorf("%q was read as %q %v %q", s, prefix, ref, last)
			}
		}
		if cluster, observer, err := contract.ParseHeartbeatSubject(s); err == nil {
			if back, err := contract.HeartbeatSubject(cluster, observer); err != nil || back != s {
				t.Errorf("%q was read as %q %q", s, cluster, observer)
			}
		}
		if ref, err := contract.ParseKey(s); err == nil {
			if back, err := ref.Key(); err != nil || back != s {
				t.Errorf("%q was read as %v", s, ref)
			}
		}
	})
}
