package version_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/version"
)

const (
	upgrade   = v1alpha1.DirectionUpgrade
	downgrade = v1alpha1.DirectionDowngrade
	rebuild   = v1alpha1.DirectionRebuild
	unknown   = v1alpha1.DirectionUnknown
)

type directionCase struct {
	from, to string // tags
	want     v1alpha1.UpgradeDirection
}

func checkDirections(t *testing.T, cases []directionCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.from+" to "+tc.to, func(t *testing.T) {
			if got := version.Compare("apache/superset:"+tc.from, "apache/superset:"+tc.to); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestW6VersionOrderIsStrict(t *testing.T) {
	checkDirections(t, []directionCase{
		// Date stamps.
		{"20260701", "20260615", unknown},
		{"2026.07.01", "2026.06.01", unknown},
		{"4.1.1", "4.1.1-py311", rebuild},
		{"6.1.0", "6.1.0-dev", rebuild},
		{"5.0.0", "6.0.0rc1", upgrade},
		// Plain versions.
		{"5.0.0", "6.0.0", upgrade},
		{"6.0.0", "5.0.0", downgrade},
		{"6.0.0", "6.0.1", upgrade},
		{"6.10.0", "6.9.9", downgrade},
		{"v6.0.0", "6.0.1", upgrade},
		{"6.0.0", "v6.0.0", rebuild},
		{"10.0.0", "9.0.0", downgrade},
	})
}

func TestW6FlavorsHaveNoOrder(t *testing.T) {
	checkDirections(t, []directionCase{
		{"6.0.0-dev", "6.1.0-py311", upgrade},
		{"6.1.0-lean", "6.0.0", downgrade},
		{"6.0.0-dev", "6.0.0-lean", rebuild},
		{"6.0.0-py310-dev", "6.0.0", rebuild},
		{"6.0.0-alpine", "6.0.0-bookworm", rebuild},
		{"6.0.0-arm64", "6.0.0", rebuild},
		{"6.0.0-a1b2c3d", "6.0.0", rebuild},
		{"6.0.0-1", "6.0.0-2", rebuild},
	})
}

func TestPreReleasesPrecedeTheirRelease(t *testing.T) {
	checkDirections(t, []directionCase{
		{"6.0.0rc1", "6.0.0", upgrade},
		{"6.0.0", "6.0.0rc1", downgrade},
		{"6.0.0rc9", "6.0.0rc10", upgrade},
		{"6.0.0-rc.2", "6.0.0rc1", downgrade},
		{"6.0.0-rc1", "6.0.0rc1", rebuild},
		{"6.0.0a1", "6.0.0b1", upgrade},
		{"6.0.0beta1", "6.0.0alpha2", downgrade},
		{"6.0.0b2", "6.0.0beta2", rebuild},
		{"6.0.0-beta", "6.0.0-rc", upgrade},
		{"6.0.0rc1-dev", "6.0.0rc2-py311", upgrade},
		{"5.9.9", "6.0.0-alpha1", upgrade},
	})
}

func TestTagsWithoutOrderAreUnknown(t *testing.T) {
	checkDirections(t, []directionCase{
		{"latest", "6.0.0", unknown},
		{"6.0.0", "latest", unknown},
		{"6.0", "6.1", unknown},
		{"6", "5", unknown},
		{"6.0.0.1", "6.0.0.2", unknown},
		{"6.0.0foo", "6.0.0", unknown},
		{"06.0.0", "5.0.0", unknown},
		{"6.00.0", "5.0.0", unknown},
		{"2026.7.1", "2026.6.1", unknown},
		{"1000.0.0", "999.0.0", unknown},
		{"99999999999999999999.0.0", "1.0.0", unknown},
		{"master-1a2b3c4", "master-5d6e7f8", unknown},
		{"", "6.0.0", unknown},
	})
}

func TestW7ChangedRepositoryIsRebuild(t *testing.T) {
	cases := map[string]struct {
		from, to string
		want     v1alpha1.UpgradeDirection
	}{
		"a mirror with the same tag":             {"apache/superset:6.0.0", "mirror.example:5000/superset:6.0.0", rebuild},
		"a mirror with the tag latest":           {"apache/superset:latest", "mirror.example:5000/superset:latest", rebuild},
		"a port without a tag":                   {"mirror.example:5000/superset", "mirror.example:5000/superset:6.0.0", unknown},
		"a port and a lower version":             {"mirror.example:5000/superset:6.0.0", "mirror.example:5000/superset:5.0.0", downgrade},
		"the same digest":                        {"a/superset@sha256:00", "b/superset@sha256:00", rebuild},
		"another digest":                         {"a/superset@sha256:00", "a/superset@sha256:11", unknown},
		"a digest takes precedence over its tag": {"a/superset:6.0.0@sha256:00", "a/superset:5.0.0@sha256:11", unknown},
		"from a tag to a digest":                 {"a/superset:6.0.0", "a/superset@sha256:11", unknown},
		"no tag":                                 {"a/superset", "b/superset", unknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := version.Compare(tc.from, tc.to); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestTag(t *testing.T) {
	for image, want := range map[string]string{
		"apache/superset:6.0.0": "6.0.0", "r:5000/superset": "", "r:5000/superset:6.0.0-dev": "6.0.0-dev",
		"superset": "", "a/b:6.0.0@sha256:00": "6.0.0", "a/b@sha256:00": "", "": "",
	} {
		if got := version.Tag(image); got != want {
			t.Errorf("tag of %q: got %q, want %q", image, got, want)
		}
	}
}

func FuzzCompareIsAntisymmetric(f *testing.F) {
	f.Add("apache/superset:6.0.0", "apache/superset:5.0.0rc1")
	f.Add("a@sha256:0", "a:latest")
	opposite := map[v1alpha1.UpgradeDirection]v1alpha1.UpgradeDirection{
		upgrade: downgrade, downgrade: upgrade, rebuild: rebuild, unknown: unknown,
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		forward, backward := version.Compare(a, b), version.Compare(b, a)
		if want, known := opposite[forward]; !known || backward != want {
			t.Errorf("%q to %q is %s, and back is %s", a, b, forward, backward)
		}
	})
}
