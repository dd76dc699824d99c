package prepare_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/release/internal/module"
	"github.com/flotilla-dev/flotilla/tools/release/internal/prepare"
)

const ready = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-01-02\n\n- Better.\n"

func state() prepare.State {
	return prepare.State{
		Modules: []module.Module{
			{Path: "libs/contract", Kind: module.Lib, Released: true},
			{Path: "libs/bus", Kind: module.Lib, Released: true, Requires: []string{"libs/contract"}},
			{Path: "libs/odd", Kind: module.Lib, Released: true, Requires: []string{"docs/events"}},
			{Path: "services/ingester", Kind: module.Service, Released: true, Requires: []string{"docs/events", "libs/bus"}},
			{Path: "docs/events", Kind: module.Test},
		},
		Tags:      []string{"libs/contract/v0.9.0", "libs/contract/v0.10.0", "libs/bus/v0.1.0", "libs/contractor/v7.0.0", "other"},
		Changelog: ready,
	}
}

type planCase struct {
	path, version string
	change        func(*prepare.State)
	problems      []string // beginnings
	want          prepare.Plan
}

func checkPlans(t *testing.T, cases map[string]planCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := state()
			if tc.change != nil {
				tc.change(&s)
			}
			got := prepare.For(s, tc.path, tc.version)
			if tc.problems == nil {
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("plan (-want +got):\n%s", diff)
				}
				return
			}
			for i, want := range tc.problems {
				if i >= len(got.Problems) || !strings.HasPrefix(got.Problems[i], want) {
					t.Errorf("problem %d of %q, want %q", i, got.Problems, want)
				}
			}
		})
	}
}

func TestForPlansRelease(t *testing.T) {
	checkPlans(t, map[string]planCase{
		"a library, with the versions that it requires": {
			path: "libs/bus", version: "v0.2.0",
			want: prepare.Plan{Tag: "libs/bus/v0.2.0", Rewrite: true, Versions: map[string]string{"libs/contract": "v0.10.0"}},
		},
		"a service keeps its go.mod and may require unreleased modules": {
			path: "services/ingester", version: "v0.2.0",
			want: prepare.Plan{Tag: "services/ingester/v0.2.0", Versions: map[string]string{"libs/bus": "v0.1.0"}},
		},
		"a module without siblings": {
			path: "libs/contract", version: "v0.11.0", change: func(s *prepare.State) { s.Changelog = strings.ReplaceAll(ready, "0.2.0", "0.11.0") },
			want: prepare.Plan{Tag: "libs/contract/v0.11.0", Versions: map[string]string{}},
		},
	})
}

func TestForRejectsModuleOrVersion(t *testing.T) {
	checkPlans(t, map[string]planCase{
		"an unknown module":      {path: "libs/nothing", version: "v0.2.0", problems: []string{"libs/nothing is not a released module"}},
		"a test is not released": {path: "docs/events", version: "v0.2.0", problems: []string{"docs/events is not a released module"}},
		"a version without v":    {path: "libs/bus", version: "0.2.0", problems: []string{`"0.2.0" is not a version`}},
		"half a version":         {path: "libs/bus", version: "v0.2", problems: []string{`"v0.2" is not a version`, "libs/bus/CHANGELOG.md has no entry under [0.2]"}},
		"an old version": {
			path: "libs/contract", version: "v0.2.0", problems: []string{"v0.2.0 is not later than the released v0.10.0"},
		},
		"a second major version": {
			path: "libs/bus", version: "v2.0.0", change: func(s *prepare.State) { s.Changelog = strings.ReplaceAll(ready, "0.2.0", "2.0.0") },
			problems: []string{"libs/bus: a module of major version v2 needs an import path that ends in /v2"},
		},
	})
}

func TestForRejectsState(t *testing.T) {
	checkPlans(t, map[string]planCase{
		"uncommitted changes": {
			path: "libs/bus", version: "v0.2.0", change: func(s *prepare.State) { s.Dirty = []string{"a.go", "b.go"} },
			problems: []string{"the tree is not clean: commit or remove a.go, b.go"},
		},
		"many uncommitted changes": {
			path: "libs/bus", version: "v0.2.0", change: func(s *prepare.State) { s.Dirty = strings.Split("abcdefg", "") },
			problems: []string{"the tree is not clean: commit or remove a, b, c, d, e and 2 more"},
		},
		"a requirement without a version": {
			path: "libs/bus", version: "v0.2.0", change: func(s *prepare.State) { s.Tags = nil },
			problems: []string{"release libs/contract first: it has no version"},
		},
		"a requirement that has changed": {
			path: "libs/bus", version: "v0.2.0", change: func(s *prepare.State) { s.Changed = map[string][]string{"libs/contract": {"libs/contract/a.go"}} },
			problems: []string{"release libs/contract first: 1 files changed since v0.10.0, such as libs/contract/a.go"},
		},
		"a library that requires an unreleased module": {
			path: "libs/odd", version: "v0.2.0", problems: []string{"libs/odd requires docs/events, which is never released"},
		},
		"a chart of the last release": {
			path: "services/ingester", version: "v0.2.0", change: func(s *prepare.State) {
				s.Charts = map[string]string{
					"deploy/charts/ingester/Chart.yaml":      "version: 0.2.0\nappVersion: v0.1.0\n",
					"deploy/charts/ingester-crds/Chart.yaml": "version: 0.2.0\nappVersion: v0.2.0\n",
				}
			},
			problems: []string{"deploy/charts/ingester/Chart.yaml has another version or appVersion than v0.2.0"},
		},
		"no changelog at all": {
			path: "libs/bus", version: "v0.2.0", change: func(s *prepare.State) { s.Changelog = "" },
			problems: []string{"libs/bus/CHANGELOG.md has no entry under [0.2.0]"},
		},
	})
}

func TestForCutsChangelog(t *testing.T) {
	s := state()
	s.Changelog = "## [Unreleased]\n\n- Something.\n"
	if p := prepare.For(s, "libs/bus", "v0.2.0"); !p.Cut || len(p.Problems) != 1 {
		t.Errorf("cut %t, problems %q", p.Cut, p.Problems)
	}
	s.Dirty = []string{"a.go"}
	if p := prepare.For(s, "libs/bus", "v0.2.0"); p.Cut {
		t.Error("Cut is set for a tree that is not clean")
	}
}

func TestResolve(t *testing.T) {
	got, err := prepare.Resolve([]byte(`module github.com/flotilla-dev/flotilla/libs/bus

go 1.26.0

require (
	github.com/flotilla-dev/flotilla/libs/contract v0.0.0
	github.com/nats-io/nats.go v1.55.0
)

require github.com/flotilla-dev/flotilla/libs/testkit v0.0.0 // indirect

replace (
	github.com/flotilla-dev/flotilla/libs/contract => ../contract
	github.com/flotilla-dev/flotilla/libs/testkit => ../testkit
	github.com/nats-io/nats.go => github.com/nats-io/nats.go v1.54.0
)
`), map[string]string{"libs/contract": "v0.10.0", "libs/testkit": "v0.3.0"})
	want := `module github.com/flotilla-dev/flotilla/libs/bus

go 1.26.0

require (
	github.com/flotilla-dev/flotilla/libs/contract v0.10.0
	github.com/nats-io/nats.go v1.55.0
)

require github.com/flotilla-dev/flotilla/libs/testkit v0.3.0 // indirect

replace github.com/nats-io/nats.go => github.com/nats-io/nats.go v1.54.0
`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("error %v, go.mod (-want +got):\n%s", err, diff)
	}
}

func TestCommands(t *testing.T) {
	p := prepare.Plan{Tag: "libs/bus/v0.2.0", Versions: map[string]string{"libs/telemetry": "v0.1.0", "libs/contract": "v0.10.0"}}
	want := []string{
		`git tag -a libs/bus/v0.2.0 -m "libs/bus v0.2.0, with libs/contract v0.10.0, libs/telemetry v0.1.0"`,
		`git push origin libs/bus/v0.2.0`,
	}
	if diff := cmp.Diff(want, prepare.Commands(p, "libs/bus")); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	p.Rewrite = true
	got := prepare.Commands(p, "libs/bus")
	if len(got) != 5 || got[0] != "git switch --detach" || got[4] != "git switch -" {
		t.Errorf("got commands %q, want a commit outside the branch", got)
	}
}
