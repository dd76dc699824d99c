package module_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/release/internal/module"
)

func TestParseList(t *testing.T) {
	got, err := module.ParseList("# path kind released reads\n\nlibs/kube lib yes\ntest test no\ntest/stack   suite   no  deploy/ LICENSE\n")
	want := []module.Module{
		{Path: "libs/kube", Kind: module.Lib, Released: true, Root: "libs/kube", Reads: []string{}},
		{Path: "test", Kind: module.Test, Root: "test", Reads: []string{}},
		{Path: "test/stack", Kind: module.Suite, Root: "test", Reads: []string{"deploy/", "LICENSE"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, modules (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"libs/kube lib", "libs/kube lib maybe", "libs/kube yes lib", "test/stack suite no\ntest test no"} {
		if _, err := module.ParseList(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestSiblings(t *testing.T) {
	got, err := module.Siblings([]byte(`module github.com/flotilla-dev/flotilla/libs/kube

go 1.26.0

require (
	github.com/flotilla-dev/flotilla/libs/contract v0.0.0
	github.com/flotilla-dev/flotilla/libs/bus v0.1.0 // indirect
	github.com/flotilla-dev/elsewhere v1.0.0
)

replace github.com/flotilla-dev/flotilla/libs/testkit => ../testkit
`))
	if diff := cmp.Diff([]string{"libs/bus", "libs/contract"}, got); diff != "" || err != nil {
		t.Errorf("error %v, siblings (-want +got):\n%s", err, diff)
	}
}

func TestOwnerReturnsInnermostModule(t *testing.T) {
	modules := []module.Module{{Path: "services/ingester"}, {Path: "services/ingester/api"}}
	for file, want := range map[string]string{
		"services/ingester/go.mod":         "services/ingester",
		"services/ingester/internal/a.go":  "services/ingester",
		"services/ingester/api/v2/kind.go": "services/ingester/api",
		"services/ingester2/a.go":          "",
		"README.md":                        "",
	} {
		owner, found := module.Owner(modules, file)
		if owner.Path != want || found != (want != "") {
			t.Errorf("%s belongs to %q, found %t; want %q", file, owner.Path, found, want)
		}
	}
}
