//go:build long

package faults

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// proxy forwards the ingester's connections to a server. It can close them, and it can stall: then connections stay open, new ones
// are accepted, and no byte is forwarded, as with a network that drops packets.
type proxy struct {
	testing.TB
	listener net.Listener
	to       string

	mu        sync.Mutex
	open      map[net.Conn]bool
	rejecting bool
	stalled   chan struct{} // closed when data may flow; nil when it may
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{TB: t, listener: listener, to: to, open: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			running.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		p.close(listener)
		p.resume()
		p.disconnect()
		running.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) serve(client net.Conn) {
	defer p.close(client)
	var dialer net.Dialer
	server, err := dialer.DialContext(context.Background(), "tcp", p.to)
	if err != nil || !p.track(client, server) {
		return
	}
	defer p.close(server)
	var wg sync.WaitGroup
	wg.Go(func() { p.pipe(client, server) })
	wg.Go(func() { p.pipe(server, client) })
	wg.Wait()
}

// track records the connections, so that they can be closed.
func (p *proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.open[c] = true
	}
	return !p.rejecting
}

func (p *proxy) pipe(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.wait()
		if n > 0 {
			if _, writeErr := to.Write(buffer[:n]); writeErr != nil {
				err = writeErr
			}
		}
		if err != nil {
			p.close(to)
			return
		}
	}
}

func (p *proxy) wait() {
	p.mu.Lock()
	stalled := p.stalled
	p.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
}

// close closes what may be closed already.
func (p *proxy) close(c io.Closer) {
	if err := c.Close(); err != nil {
		return
	}
}

// disconnect closes all connections and rejects new ones until resume.
func (p *proxy) disconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rejecting = true
	for c := range p.open {
		p.close(c)
	}
	clear(p.open)
}

// stall forwards no byte until resume.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled == nil {
		p.stalled = make(chan struct{})
	}
}

func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rejecting = false
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
}
