package app

import "testing"

func TestListenAddressHasFamilyOfPod(t *testing.T) {
	for podIP, want := range map[string]string{
		"": "0.0.0.0", "10.1.2.3": "0.0.0.0", "fd00::1": "::", "2001:db8::10": "::", "unknown": "0.0.0.0",
	} {
		if got := listenAddress(podIP).String(); got != want {
			t.Errorf("pod IP %q: got %s, want %s", podIP, got, want)
		}
	}
}
