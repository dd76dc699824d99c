package gateway

import "fmt"

// drainScript tells Envoy to fail its health checks and then waits, so that the pod
// leaves the Service's endpoints while it still takes connections. From then on Envoy
// also ends each connection with its next response.
//
// The image has no curl and no wget, and Envoy's admin interface takes only POST, which
// a preStop of kind httpGet cannot send, and listens on loopback, where the kubelet
// cannot reach it. The official image has bash, which speaks TCP itself. Whatever goes
// wrong, the wait is kept: it is what saves requests.
func drainScript(port, seconds int32) string {
	return fmt.Sprintf(`{ printf 'POST /healthcheck/fail HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' >&3
timeout 2 cat <&3 >/dev/null; } 3<>/dev/tcp/127.0.0.1/%d || true
sleep %d
`, port, seconds)
}
