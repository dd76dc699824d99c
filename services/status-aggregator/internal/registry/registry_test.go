package registry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

func TestManagedKinds(t *testing.T) {
	set, err := Managed()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"supersets.superset.apache.org":         "superset-operator",
		"fireboltengines.compute.firebolt.io":   "engine-operator",
		"fireboltinstances.compute.firebolt.io": "engine-operator",
	}
	for _, k := range set.Kinds() {
		w, ok := want[k.CRD()]
		if !ok {
			t.Errorf("unexpected row %s", k.CRD())
			continue
		}
		if k.Observer != w {
			t.Errorf("%s: observer %q, want %q", k.CRD(), k.Observer, w)
		}
		found, ok := set.Lookup(k.Token)
		if diff := cmp.Diff(k, found); !ok || diff != "" {
			t.Errorf("lookup of %q: %v %s", k.Token, ok, diff)
		}
	}
	if n := len(set.Kinds()); n != len(want) {
		t.Errorf("%d rows, want %d", n, len(want))
	}
	if n := len(set.ObservedBy("engine-operator")); n != 2 {
		t.Errorf("engine-operator observes %d kinds, want 2", n)
	}
	if n := len(set.ObservedBy("nobody")); n != 0 {
		t.Errorf("an unknown observer observes %d kinds, want 0", n)
	}
}

func TestNewRejectsRowsAgainstContract(t *testing.T) {
	superset := row(contract.Superset, "supersets", "superset-operator")
	cases := map[string][]Kind{
		"a token that the contract does not know":   {{Token: "nonsense"}},
		"a token that stands for another kind":      {{Token: contract.Superset, GVK: schema.GroupVersionKind{Group: "a", Kind: "B"}}},
		"a token that is listed twice":              {superset, superset},
		"a row made of an unknown token by mistake": {row("nonsense", "x", "y")},
	}
	for name, rows := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := New(rows...); err == nil {
				t.Error("no error")
			}
		})
	}
}
