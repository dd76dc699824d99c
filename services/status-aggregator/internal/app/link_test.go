package app

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// link is a proxy between clients and the NATS server that a test can cut or block.
type link struct {
	t        *testing.T
	listener net.Listener
	server   string

	mu             sync.Mutex
	down           bool // rejects all connections
	dropsResponses bool // drops the responses of the server
	conns          map[net.Conn]bool
}

// link returns a separate link for the clients of a name. Call it before they connect.
func (f *fixture) link(name string) *link {
	f.t.Helper()
	l := newLink(f.t, strings.TrimPrefix(f.nats.URL(), "nats://"))
	f.urls[name] = "nats://" + l.listener.Addr().String()
	return l
}

// newLink starts a proxy to a server, host:port.
func newLink(t *testing.T, server string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a listener of the test, on loopback
	if err != nil {
		t.Fatal(err)
	}
	l := &link{t: t, listener: listener, server: server, conns: map[net.Conn]bool{}}
	go l.accept()
	t.Cleanup(func() {
		l.disconnect()
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", l.server) //nolint:noctx // on loopback
		if err != nil || !l.track(client, server) {
			closeAll(client, server)
			continue
		}
		go l.forward(server, client, func() bool { return false })
		go l.forward(client, server, l.isDroppingResponses)
	}
}

// track tracks the connections and reports whether the link accepts them.
func (l *link) track(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		l.conns[c] = true
	}
	return !l.down
}

// forward copies until one end is closed, and then closes the other.
func (l *link) forward(to io.WriteCloser, from io.ReadCloser, drop func() bool) {
	buf := make([]byte, 32*1024)
	for {
		n, err := from.Read(buf)
		if err == nil && !drop() {
			_, err = to.Write(buf[:n])
		}
		if err != nil {
			closeAll(to, from)
			return
		}
	}
}

func (l *link) isDroppingResponses() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropsResponses
}

// dropResponses drops the responses of the server: publishes are stored, their acknowledgments are lost.
func (l *link) dropResponses() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropsResponses = true
}

// disconnect closes all connections and rejects new ones.
func (l *link) disconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for c := range l.conns {
		closeAll(c)
		delete(l.conns, c)
	}
}

// restore accepts clients again, over new connections.
func (l *link) restore() {
	l.disconnect()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down, l.dropsResponses = false, false
}

func closeAll(ends ...io.Closer) {
	for _, c := range ends {
		if c == nil {
			continue
		}
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			continue // the other end closed it first
		}
	}
}
