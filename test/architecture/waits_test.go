package architecture

import (
	"bytes"
	"os"
	"regexp"
	"testing"
)

// ownTimeout matches a wait with a literal timeout: the test fails where that is too short for a busy machine.
var ownTimeout = regexp.MustCompile(`expect\.Eventually\([^,]+, (\d+ ?\* ?)?time\.`)

func TestWaitsHaveGenerousTimeouts(t *testing.T) {
	waits := 0
	for _, f := range sources(t) {
		if f.dir == "test/architecture" {
			continue
		}
		raw, err := os.ReadFile("../../" + f.path)
		if err != nil {
			t.Fatal(err)
		}
		waits += bytes.Count(raw, []byte("expect.Eventually("))
		for _, call := range ownTimeout.FindAll(raw, -1) {
			t.Errorf("%s: %s…: want expect.Long, a multiple of it, or a constant of the package", f.path, call)
		}
	}
	if waits < 100 {
		t.Fatalf("found %d waits: the rule checks nothing", waits)
	}
}

func TestOwnTimeoutsAreReported(t *testing.T) {
	for call, reported := range map[string]bool{
		"expect.Eventually(t, time.Minute, func() error {":     true,
		"expect.Eventually(w, 10*time.Second, func() error {":  true,
		"expect.Eventually(t, expect.Long, func() error {":     false,
		"expect.Eventually(e.t, 2*expect.Long, func() error {": false,
		"expect.Eventually(e.t, 2*timeout, func() error {":     false,
		"expect.Never(t, time.Second, func() error {":          false,
	} {
		if got := ownTimeout.MatchString(call); got != reported {
			t.Errorf("%s: reported %v, want %v", call, got, reported)
		}
	}
}
