package service

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

// The endpoints need no authentication, so a client could otherwise hold connections without an end.
func TestHealthEndsConnectionWhoseBodyNeverArrives(t *testing.T) {
	ports, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprint("127.0.0.1:", ports[0])
	h := newHealth()
	if err := h.listen(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.server.Close() })
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(expect.Long)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: probe\r\nContent-Length: 10\r\n\r\nbody")
	if response, err := io.ReadAll(conn); err != nil || !strings.Contains(string(response), "200 OK") {
		t.Errorf("got %q, %v", response, err)
	}
}
