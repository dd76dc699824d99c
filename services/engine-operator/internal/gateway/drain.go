package gateway

import "fmt"

// drainScript makes Envoy fail its health checks and then waits, so that the pod
// leaves the Service's endpoints while it still accepts connections. From then on Envoy
// also closes each connection with its next response.
//
// The image has neither curl nor wget, and Envoy's admin interface requires POST, which
// a preStop of kind httpGet cannot send, and listens on loopback, where the kubelet
// cannot reach it. The official image has bash, which supports TCP. If the request
// fails, the script still waits, because the wait is what saves requests.
func drainScript(port, seconds int32) string {
	return fmt.Sprintf(`{ printf 'POST /healthcheck/fail HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' >&3
timeout 2 cat <&3 >/dev/null; } 3<>/dev/tcp/127.0.0.1/%d || true
sleep %d
`, port, seconds)
}
