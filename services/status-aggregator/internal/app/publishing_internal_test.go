package app

import "testing"

// A leader that is connected but must not publish, for example while the streams have no quorum, keeps last states.
func TestPublishingIsThatOfLeader(t *testing.T) {
	elected := make(chan struct{})
	permitted, connected := false, true
	report := publishing(elected, func() bool { return permitted }, func() bool { return connected })
	if !report() {
		t.Error("a standby with a connected bus: no other leader can publish")
	}
	connected = false
	if report() {
		t.Error("a standby without the bus: another leader can publish")
	}
	close(elected)
	connected = true
	if report() {
		t.Error("a leader without permission can publish")
	}
	permitted = true
	if !report() {
		t.Error("a leader with permission cannot publish")
	}
}
