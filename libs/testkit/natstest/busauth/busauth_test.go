package busauth_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

func TestTapRecordsUsedAndDeniedPermissions(t *testing.T) {
	srv := busauth.Start(t, busauth.Names{Cluster: "prod", Namespace: "team-a", Tool: "pager"})
	tap := srv.Tap(t)
	nc, err := nats.Connect(srv.As("superset-operator"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	const allowed, denied = "flotilla.hb.v1.prod.superset-operator", "flotilla.hb.v1.prod.ingester"
	if unused := tap.Unused(t, "superset-operator"); !slices.Contains(unused, allowed) {
		t.Errorf("%q is reported as used before any use: %v", allowed, unused)
	}
	for _, subject := range []string{allowed, denied} {
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if unused := tap.Unused(t, "superset-operator"); slices.Contains(unused, allowed) || len(unused) == 0 {
		t.Errorf("unused permissions: %v", unused)
	}
	if v := srv.Violations(); len(v) != 1 || !strings.Contains(v[0], denied) {
		t.Errorf("violations: %q", v)
	}
}
