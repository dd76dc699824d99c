package affected_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/release/internal/affected"
	"github.com/flotilla-dev/flotilla/tools/release/internal/module"
)

var modules = []module.Module{
	{Path: "libs/contract", Kind: module.Lib},
	{Path: "libs/bus", Kind: module.Lib, Requires: []string{"libs/contract"}},
	{Path: "libs/telemetry", Kind: module.Lib},
	{Path: "services/ingester/api", Kind: module.API},
	{Path: "services/ingester", Kind: module.Service, Requires: []string{"libs/bus", "services/ingester/api"}},
	{Path: "cmd/plugin", Kind: module.Tool, Requires: []string{"libs/contract"}},
	{Path: "test/docs", Kind: module.Test},
}

func TestOf(t *testing.T) {
	tests := map[string]struct {
		files []string
		want  map[string]string
	}{
		"nothing changed": {},
		"a file of a library reaches what requires it, at any distance": {
			files: []string{"libs/contract/event.go"},
			want: map[string]string{
				"libs/contract": "changed: libs/contract/event.go", "libs/bus": "requires libs/contract",
				"services/ingester": "requires libs/bus", "cmd/plugin": "requires libs/contract", "test/docs": "reads the whole checkout",
			},
		},
		"a library that nobody requires": {
			files: []string{"libs/telemetry/trace.go"},
			want:  map[string]string{"libs/telemetry": "changed: libs/telemetry/trace.go", "test/docs": "reads the whole checkout"},
		},
		"a nested module is not the one around it": {
			files: []string{"services/ingester/api/v2/model.go"},
			want: map[string]string{
				"services/ingester/api": "changed: services/ingester/api/v2/model.go",
				"services/ingester":     "requires services/ingester/api", "test/docs": "reads the whole checkout",
			},
		},
		"a service reaches no library": {
			files: []string{"services/ingester/go.mod"},
			want:  map[string]string{"services/ingester": "changed: services/ingester/go.mod", "test/docs": "reads the whole checkout"},
		},
		"a page of no module": {
			files: []string{"README.md"},
			want:  map[string]string{"test/docs": "reads the whole checkout"},
		},
		"rights on the bus": {
			files: []string{"deploy/nats/ingester.conf"},
			want:  map[string]string{"services/ingester": "changed: deploy/nats/ingester.conf", "test/docs": "reads the whole checkout"},
		},
		"the build of all": {
			files: []string{"hack/test.sh"},
			want: map[string]string{
				"libs/contract": "changed: hack/test.sh", "libs/bus": "changed: hack/test.sh", "libs/telemetry": "changed: hack/test.sh",
				"services/ingester/api": "changed: hack/test.sh", "services/ingester": "changed: hack/test.sh",
				"cmd/plugin": "changed: hack/test.sh", "test/docs": "changed: hack/test.sh",
			},
		},
		"of two files the first one in order is named": {
			files: []string{"libs/telemetry/z.go", "libs/telemetry/a.go"},
			want:  map[string]string{"libs/telemetry": "changed: libs/telemetry/a.go", "test/docs": "reads the whole checkout"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, a := range affected.Of(modules, tc.files) {
				got[a.Path] = a.Why
			}
			if tc.want == nil {
				tc.want = map[string]string{}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("affected (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheOrderIsThatOfTheList(t *testing.T) {
	got := affected.Of(modules, []string{"modules.txt"})
	for i, a := range got {
		if a.Path != modules[i].Path {
			t.Errorf("place %d: %s, want %s", i, a.Path, modules[i].Path)
		}
	}
}
