package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestLoggerLevels(t *testing.T) {
	all := []string{"error", "info", "debug", "trace", "deeper"}
	tests := map[string][]string{
		"error": all[:1],
		"warn":  all[:1],
		"info":  all[:2],
		"debug": all[:3],
		"trace": all,
	}
	for level, want := range tests {
		t.Run(level, func(t *testing.T) {
			var out bytes.Buffer
			log, err := NewLogger(&out, FormatJSON, level)
			if err != nil {
				t.Fatal(err)
			}
			log.Error(errors.New("broken"), "error")
			log.Info("info")
			log.V(1).Info("debug")
			log.V(2).Info("trace")
			log.V(5).Info("deeper")

			var got []string
			for line := range strings.Lines(out.String()) {
				entry := map[string]any{}
				if err := json.Unmarshal([]byte(line), &entry); err != nil {
					t.Fatalf("%q is not JSON: %v", line, err)
				}
				message, ok := entry["msg"].(string)
				if !ok || entry["time"] == nil {
					t.Errorf("%q has no msg or no time", line)
				}
				got = append(got, message)
				if name := strings.Replace(message, "deeper", "trace", 1); entry["level"] != name {
					t.Errorf("level of %q is %v", message, entry["level"])
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextLogsOneLinePerEntry(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, FormatText, "info")
	if err != nil {
		t.Fatal(err)
	}
	log.WithName("web").Info("Applied object", "name", "a\nb")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "Applied object") || !strings.Contains(got, "web") {
		t.Errorf("got %q", got)
	}
}

func TestLoggerRejectsUnknownFormatAndLevel(t *testing.T) {
	for want, in := range map[string][2]string{
		`unknown log format "xml", want json or text`:                      {"xml", "info"},
		`unknown log level "loud", want error, warn, info, debug or trace`: {"json", "loud"},
	} {
		if _, err := NewLogger(&bytes.Buffer{}, in[0], in[1]); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestBuild(t *testing.T) {
	stamped := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"},
	}}
	tests := map[string]struct {
		version, revision string
		info              *debug.BuildInfo
		want              Build
	}{
		"the linker wins":              {"v9", "def", stamped, Build{Version: "v9", Revision: "def"}},
		"else the toolchain sets it":   {"", "", stamped, Build{Version: "v1.2.3", Revision: "abc-dirty"}},
		"a build in a work tree":       {"", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, Build{Version: "devel", Revision: Unknown}},
		"unknown values are not empty": {"", "", &debug.BuildInfo{}, Build{Version: "devel", Revision: Unknown}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.want.Go = runtime.Version()
			if diff := cmp.Diff(tc.want, buildFrom(tc.version, tc.revision, tc.info)); diff != "" {
				t.Errorf("build (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRegisterBuildInfoIsIdempotent(t *testing.T) {
	reg := prometheus.NewRegistry()
	RegisterBuildInfo(reg, "test-service")
	RegisterBuildInfo(reg, "test-service") // has the same values and is harmless
	if n := testutil.CollectAndCount(reg, "flotilla_build_info"); n != 1 {
		t.Errorf("there are %d series, want 1", n)
	}
}
