package outbox

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnknownKinds(t *testing.T) {
	tests := map[string]struct {
		positions map[string]*position
		rows      []*row
		want      []string
	}{
		"no position": {nil, []*row{{id: 1, kind: "model"}, {id: 2, kind: "project"}, {id: 3, kind: "model"}}, []string{"model", "project"}},
		"later rows":  {map[string]*position{"model": {known: true, read: 4}}, []*row{{id: 5, kind: "model"}, {id: 6, kind: "model"}}, nil},
		"the rows of one kind go back": {
			map[string]*position{"model": {known: true, read: 4}, "project": {known: true, read: 9}, "rayjob": {known: true, read: 3}},
			[]*row{{id: 4, kind: "rayjob"}, {id: 5, kind: "model"}, {id: 9, kind: "project"}, {id: 10, kind: "model"}},
			[]string{"project"},
		},
		"after a failure":     {map[string]*position{"model": {read: 4}}, []*row{{id: 5, kind: "model"}}, []string{"model"}},
		"not in the contract": {nil, []*row{{id: 1, kind: "a kind with spaces"}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := New(Config{})
			maps.Copy(r.positions, test.positions)
			if diff := cmp.Diff(test.want, r.unknown(test.rows)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
