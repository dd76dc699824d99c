package bootstrap

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestBootstrapSetsPlacement(t *testing.T) {
	f := newFixture(t)
	f.bus("bootstrap", "--placement-tags=ssd,zone-a")
	for _, name := range f.streams() {
		if p := f.config(name).Placement; p == nil || strings.Join(p.Tags, ",") != "ssd,zone-a" {
			t.Errorf("%s is placed by %+v", name, p)
		}
	}
	want(t, f.bus("bootstrap"), append(forEachStream("up to date"), "FLOTILLA_STATUS: up to date")...)
	f.bus("bootstrap", "--changes-max-age=24h")
	want(t, f.bus("verify", "--placement-tags=ssd,zone-a"), "The bus is up to date.")
	if out, err := command(t.Context(), t, f.As("bootstrap"), "verify", "--placement-tags=hdd"); !errors.Is(err, errDiffers) || !strings.Contains(out, "FLOTILLA_OBS: placement_tags is [ssd zone-a], want [hdd]") {
		t.Errorf("verify returned %v: %s", err, out)
	}
}

func TestBootstrapKeepsClusterOfPlacement(t *testing.T) {
	f := newFixture(t)
	f.bus("bootstrap", "--placement-tags=ssd")
	for _, name := range f.streams() {
		f.change(name, func(c *jetstream.StreamConfig) { c.Placement.Cluster = "east" })
	}
	for _, tc := range []struct{ flag, tags string }{
		{"--changes-max-age=24h", "ssd"},
		{"--placement-tags=hdd", "hdd"},
	} {
		f.bus("bootstrap", tc.flag)
		for _, name := range f.streams() {
			if p := f.config(name).Placement; p == nil || p.Cluster != "east" || strings.Join(p.Tags, ",") != tc.tags {
				t.Errorf("%s: %s is placed by %+v, want tags %s in cluster east", tc.flag, name, p, tc.tags)
			}
		}
	}
}
