package telemetry

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Set by the linker: -ldflags "-X <module>/libs/telemetry.version=v1.2.3 -X <module>/libs/telemetry.revision=<commit>".
var (
	version  string
	revision string
)

// Unknown is the value of a field that the build does not contain.
const Unknown = "unknown"

// Build identifies the running build.
type Build struct {
	Version  string // semantic version, or "devel"
	Revision string // commit, with "-dirty" when the tree had changes
	Go       string // for example "go1.26.8"
}

// String returns the build in one line, as --version prints it.
func (b Build) String() string {
	return strings.Join([]string{b.Version, b.Revision, b.Go}, " ")
}

// BuildInfo returns the values set by linker flags, else those that the Go toolchain stamped.
// No field is ever empty.
func BuildInfo() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildFrom(version, revision, info)
}

func buildFrom(version, revision string, info *debug.BuildInfo) Build {
	b := Build{Version: version, Revision: revision, Go: runtime.Version()}
	if b.Version == "" {
		b.Version = strings.Trim(info.Main.Version, "()")
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	if b.Revision == "" {
		b.Revision = stampedRevision(info)
	}
	return b
}

func stampedRevision(info *debug.BuildInfo) string {
	commit, dirty := Unknown, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	return commit + dirty
}

// RegisterBuildInfo adds the gauge flotilla_build_info, constantly 1, with the
// labels service, version, revision and goversion.
func RegisterBuildInfo(reg prometheus.Registerer, service string) {
	b := BuildInfo()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flotilla_build_info",
		Help: "Build of the running service; the value is always 1.",
		ConstLabels: prometheus.Labels{
			"service": service, "version": b.Version, "revision": b.Revision, "goversion": b.Go,
		},
	})
	gauge.Set(1)
	reg.Register(gauge) //nolint:errcheck // Only a second registration can fail, and it has the same values.
}
