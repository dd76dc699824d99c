package capability_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/node/capability"
)

func supported() capability.Facts {
	return capability.Facts{
		OS: "linux", Filesystems: "nodev\tproc\nnodev\toverlay\n\text4\n", DataOn: "other",
		Controllers: []string{"cpu", "cpuset", "memory", "pids"},
		Failed:      map[string]string{},
	}
}

func TestMissing(t *testing.T) {
	cases := map[string]struct {
		change func(*capability.Facts)
		want   []string // beginnings of the lines
	}{
		"a machine with all capabilities": {change: func(*capability.Facts) {}},
		"another system is reported alone": {
			change: func(f *capability.Facts) { f.OS, f.UID, f.Filesystems = "darwin", 501, "" },
			want:   []string{"Linux: this is darwin"},
		},
		"another user is reported alone": {
			change: func(f *capability.Facts) { f.UID, f.Filesystems = 1000, "" },
			want:   []string{"root: this is user 1000"},
		},
		"a kernel without overlayfs": {
			change: func(f *capability.Facts) { f.Filesystems = "nodev\toverlayish\n" },
			want:   []string{"overlayfs: "},
		},
		"a directory on an overlay": {
			change: func(f *capability.Facts) { f.DataOn = "overlay" },
			want:   []string{"a file system for the containers: "},
		},
		"controllers that are not mounted": {
			change: func(f *capability.Facts) { f.Controllers = []string{"cpu"} },
			want:   []string{"cgroups: the controller memory", "cgroups: the controller pids"},
		},
		"programs and failed trials are all named, in the order of the trials": {
			change: func(f *capability.Facts) {
				f.Absent = []string{"runc"}
				f.Failed["iptables with nat"] = "no such table"
				f.Failed["mounts"] = "not permitted"
			},
			want: []string{"programs: runc", "mounts: not permitted", "iptables with nat: no such table"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			facts := supported()
			c.change(&facts)
			got := capability.Missing(facts)
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %d lines", got, len(c.want))
			}
			for i, line := range got {
				if !strings.HasPrefix(line, c.want[i]) {
					t.Errorf("line %d is %q, want it to begin with %q", i, line, c.want[i])
				}
			}
		})
	}
}

func TestMissingReportsFailedTrials(t *testing.T) {
	facts := supported()
	for _, what := range capability.Probes() {
		facts.Failed[what] = "it failed"
	}
	var got []string
	for _, line := range capability.Missing(facts) {
		got = append(got, strings.TrimSuffix(line, ": it failed"))
	}
	want := slices.Sorted(maps.Keys(facts.Failed))
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
		t.Error(diff)
	}
}

func TestErrorNamesAlternative(t *testing.T) {
	err := capability.Error{Missing: []string{"root: this is user 7"}}
	for _, part := range []string{"root: this is user 7", "`make up`"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}
