package freeport_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

func ExamplePick() {
	ports, err := freeport.Pick(2)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(ports), ports[0] != ports[1])
	// Output: 2 true
}

func TestPickReturnsFreePortsBelowEphemeralRange(t *testing.T) {
	ports, err := freeport.Pick(50)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if port < 20000 || port > 31999 || seen[port] || !freeport.Free(port) {
			t.Errorf("port %d is out of range, picked twice or taken", port)
		}
		seen[port] = true
	}
}

func TestPortIsNotFreeWhileInUse(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
		t.Run(host, func(t *testing.T) {
			port, err := freeport.One()
			if err != nil {
				t.Fatal(err)
			}
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprintf("%s:%d", host, port))
			if err != nil {
				t.Fatal(err)
			}
			if freeport.Free(port) {
				t.Errorf("port %d is reported as free", port)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if !freeport.Free(port) {
				t.Errorf("port %d stays taken", port)
			}
		})
	}
}
