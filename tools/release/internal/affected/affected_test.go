package affected_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/release/internal/affected"
	"github.com/flotilla-dev/flotilla/tools/release/internal/module"
)

var modules = []module.Module{
	{Path: "libs/contract", Kind: module.Lib},
	{Path: "libs/bus", Kind: module.Lib, Requires: []string{"libs/contract"}, Reads: []string{"deploy/nats/"}},
	{Path: "libs/telemetry", Kind: module.Lib},
	{Path: "services/ingester/api", Kind: module.API},
	{Path: "services/ingester", Kind: module.Service, Requires: []string{"libs/bus", "services/ingester/api"}},
	{Path: "cmd/plugin", Kind: module.Tool, Requires: []string{"libs/contract"}, Reads: []string{"services/ingester/config/", "LICENSE"}},
	{Path: "test/docs", Kind: module.Test, Reads: []string{"*"}},
	{Path: "suites", Kind: module.Test, Root: "suites", Requires: []string{"libs/telemetry"}},
	{Path: "suites/charts", Kind: module.Suite, Root: "suites", Requires: []string{"libs/telemetry"}, Reads: []string{"deploy/charts/"}},
	{Path: "suites/node", Kind: module.Suite, Root: "suites", Requires: []string{"libs/telemetry"}},
}

type affectedCase struct {
	files []string
	want  map[string]string
}

func checkAffected(t *testing.T, cases map[string]affectedCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := affected.Of(modules, tc.files)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, a := range found {
				got[a.Path] = a.Reason
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

func TestOfModules(t *testing.T) {
	checkAffected(t, map[string]affectedCase{
		"nothing changed": {},
		"a file of a library affects direct and indirect dependents": {
			files: []string{"libs/contract/event.go"},
			want: map[string]string{
				"libs/contract": "changed: libs/contract/event.go", "libs/bus": "requires libs/contract",
				"services/ingester": "requires libs/contract", "cmd/plugin": "requires libs/contract", "test/docs": "reads libs/contract/event.go",
			},
		},
		"a nested module is not its parent module": {
			files: []string{"services/ingester/api/v2/model.go"},
			want: map[string]string{
				"services/ingester/api": "changed: services/ingester/api/v2/model.go",
				"services/ingester":     "requires services/ingester/api", "test/docs": "reads services/ingester/api/v2/model.go",
			},
		},
		"a service does not affect libraries": {
			files: []string{"services/ingester/go.mod"},
			want:  map[string]string{"services/ingester": "changed: services/ingester/go.mod", "test/docs": "reads services/ingester/go.mod"},
		},
		"a test affects only its module, and those that read every file": {
			files: []string{"libs/contract/event_test.go"},
			want: map[string]string{
				"libs/contract": "changed: libs/contract/event_test.go", "test/docs": "reads libs/contract/event_test.go",
			},
		},
		"the first of two files is the reason": {
			files: []string{"libs/telemetry/z.go", "libs/telemetry/a.go"},
			want: map[string]string{
				"libs/telemetry": "changed: libs/telemetry/a.go", "test/docs": "reads libs/telemetry/a.go",
				"suites": "requires libs/telemetry", "suites/charts": "requires libs/telemetry", "suites/node": "requires libs/telemetry",
			},
		},
	})
}

func TestOfFilesOutsideModule(t *testing.T) {
	checkAffected(t, map[string]affectedCase{
		"a directory of another module that tests read": {
			files: []string{"services/ingester/config/crd/model.yaml"},
			want: map[string]string{
				"services/ingester": "changed: services/ingester/config/crd/model.yaml",
				"cmd/plugin":        "reads services/ingester/config/crd/model.yaml",
				"test/docs":         "reads services/ingester/config/crd/model.yaml",
			},
		},
		"a test in a directory that tests read": {
			files: []string{"services/ingester/config/crd/model_test.go"},
			want: map[string]string{
				"services/ingester": "changed: services/ingester/config/crd/model_test.go",
				"test/docs":         "reads services/ingester/config/crd/model_test.go",
			},
		},
		"a file that tests read, and one with its name as a prefix": {
			files: []string{"LICENSE", "LICENSE.txt"},
			want:  map[string]string{"cmd/plugin": "reads LICENSE", "test/docs": "reads LICENSE"},
		},
		"a file that a required module reads": {
			files: []string{"deploy/nats/ingester.conf"},
			want: map[string]string{
				"libs/bus": "reads deploy/nats/ingester.conf", "services/ingester": "reads deploy/nats/ingester.conf",
				"test/docs": "reads deploy/nats/ingester.conf",
			},
		},
		"a page outside all modules": {
			files: []string{"README.md"},
			want:  map[string]string{"test/docs": "reads README.md"},
		},
		"a deleted module": {
			files: []string{"libs/former/go.mod", "libs/former/former.go"},
			want:  map[string]string{"test/docs": "reads libs/former/former.go"},
		},
		"a shared script": {
			files: []string{"hack/test.sh"},
			want: map[string]string{
				"libs/contract": "all go through hack/test.sh", "libs/bus": "all go through hack/test.sh", "libs/telemetry": "all go through hack/test.sh",
				"services/ingester/api": "all go through hack/test.sh", "services/ingester": "all go through hack/test.sh",
				"cmd/plugin": "all go through hack/test.sh", "test/docs": "all go through hack/test.sh",
				"suites": "all go through hack/test.sh", "suites/charts": "all go through hack/test.sh", "suites/node": "all go through hack/test.sh",
			},
		},
	})
}

func TestOfSuites(t *testing.T) {
	checkAffected(t, map[string]affectedCase{
		"a library that only suites require": {
			files: []string{"libs/telemetry/trace.go"},
			want: map[string]string{
				"libs/telemetry": "changed: libs/telemetry/trace.go", "test/docs": "reads libs/telemetry/trace.go",
				"suites": "requires libs/telemetry", "suites/charts": "requires libs/telemetry", "suites/node": "requires libs/telemetry",
			},
		},
		"a suite is part of its module, not of other suites": {
			files: []string{"suites/node/node_test.go"},
			want: map[string]string{
				"suites": "changed: suites/node/node_test.go", "suites/node": "changed: suites/node/node_test.go",
				"test/docs": "reads suites/node/node_test.go",
			},
		},
		"a file that a suite reads does not affect its module": {
			files: []string{"deploy/charts/ingester/values.yaml"},
			want: map[string]string{
				"suites/charts": "reads deploy/charts/ingester/values.yaml", "test/docs": "reads deploy/charts/ingester/values.yaml",
			},
		},
		"the go.mod of suites": {
			files: []string{"suites/go.mod"},
			want: map[string]string{
				"suites": "changed: suites/go.mod", "suites/charts": "built with suites/go.mod", "suites/node": "built with suites/go.mod",
				"test/docs": "reads suites/go.mod",
			},
		},
	})
}

func TestOfKeepsListOrder(t *testing.T) {
	got, err := affected.Of(modules, []string{"modules.txt"})
	if err != nil || len(got) != len(modules) {
		t.Fatalf("%d modules, error %v", len(got), err)
	}
	for i, a := range got {
		if a.Path != modules[i].Path {
			t.Errorf("place %d: %s, want %s", i, a.Path, modules[i].Path)
		}
	}
}
