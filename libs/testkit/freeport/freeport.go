// Package freeport picks unused TCP ports on loopback.
//
// The ports come from 20000 to 31999, below the range from which Linux takes the source ports of outgoing
// connections (32768 and up), so a client connection cannot take the port of a stopped server before it starts again.
// Picks are random, so that test binaries that start at the same moment rarely pick the same port; a caller that starts
// servers should still retry with other ports when a start fails.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	minPort     = 20000
	maxPort     = 31999
	maxAttempts = 1000
)

// ErrNoFreePort is returned if no free port was found after many tries.
var ErrNoFreePort = errors.New("no free TCP port between 20000 and 31999 on 127.0.0.1")

// Pick returns n different free ports.
func Pick(n int) ([]int, error) {
	ports := make([]int, 0, n)
	picked := map[int]bool{}
	for range maxAttempts {
		if len(ports) == n {
			return ports, nil
		}
		port := minPort + rand.IntN(maxPort-minPort+1)
		if picked[port] || !Free(port) {
			continue
		}
		picked[port] = true
		ports = append(ports, port)
	}
	if len(ports) == n {
		return ports, nil
	}
	return nil, ErrNoFreePort
}

// One returns a single free port.
func One() (int, error) {
	ports, err := Pick(1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}

// Free reports whether a server can listen on the port, on loopback and on all addresses.
func Free(port int) bool {
	for _, host := range []string{"127.0.0.1", ""} {
		if !canListen(net.JoinHostPort(host, strconv.Itoa(port))) {
			return false
		}
	}
	return true
}

// Address returns host:port on loopback.
func Address(port int) string {
	return fmt.Sprintf("127.0.0.1:%d", port)
}

func canListen(address string) bool {
	l, err := net.Listen("tcp", address) //nolint:noctx // bound and closed at once
	if err != nil {
		return false
	}
	return l.Close() == nil
}
