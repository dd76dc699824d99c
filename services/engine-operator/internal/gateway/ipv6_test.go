package gateway_test

import (
	"net"
	"net/http"
	"net/netip"
	"testing"
)

// TestIPv6GatewayServesBothFamilies starts the real Envoy with the configuration of an IPv6 cluster, except for its ports. A
// dual-stack cluster may reach a pod by either family.
func TestIPv6GatewayServesBothFamilies(t *testing.T) {
	config := configAt(t, instance("main", "data"), netip.IPv6Unspecified())
	_, port, err := net.SplitHostPort(loopback(t, config))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range config.GetStaticResources().GetListeners() {
		l.GetAddress().GetSocketAddress().Address = "::"
	}
	start(t, config)
	for _, host := range []string{"127.0.0.1", "::1"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Errorf("get /healthz: %v", err)
			continue
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s: got %s, %v", host, response.Status, err)
		}
	}
}
