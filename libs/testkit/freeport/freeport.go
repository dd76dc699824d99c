// Package freeport picks unused TCP ports on loopback.
//
// The ports come from 20000 to 31999, below the range from which Linux takes the source ports of outgoing
// connections (32768 and up), so a client connection cannot take the port of a stopped server before it starts again.
// A port is reserved for the process that picked it, by a lock on a file, until that process ends: test binaries that run
// at the same time pick different ports, also before their servers listen.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
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
	for range maxAttempts {
		if len(ports) == n {
			return ports, nil
		}
		port := minPort + rand.IntN(maxPort-minPort+1)
		if !Free(port) {
			continue
		}
		switch err := reserve(port); {
		case err == nil:
			ports = append(ports, port)
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, fmt.Errorf("reserve port %d: %w", port, err)
		}
	}
	if len(ports) == n {
		return ports, nil
	}
	return nil, ErrNoFreePort
}

// reserved are the files whose locks this process holds.
var reserved struct {
	sync.Mutex
	files []*os.File
}

// reserve returns EWOULDBLOCK if the port is reserved already, by this or another process of the user.
func reserve(port int) error {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("flotilla-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(err, f.Close())
	}
	reserved.Lock()
	defer reserved.Unlock()
	reserved.files = append(reserved.files, f)
	return nil
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
