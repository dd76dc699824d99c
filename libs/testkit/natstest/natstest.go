// Package natstest runs a real NATS server with JetStream inside the test process, on loopback.
//
// A Server can be stopped and started again on the same port with the same data, like a restart of NATS, and wiped,
// like the loss of its disk:
//
//	srv := natstest.Start(t)
//	nc, err := nats.Connect(srv.URL())
//	...
//	srv.Stop()  // clients see the connection break
//	srv.Start() // they reconnect; streams and messages are still there
//	srv.Wipe()  // stops, removes the data, starts: all streams are lost
package natstest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

const startTimeout = 30 * time.Second

// Server is a NATS server that is stopped at the end of the test.
type Server struct {
	t    testing.TB
	opts server.Options

	mu  sync.Mutex
	srv *server.Server // nil while stopped
}

// Option changes the server's options before its first start, for example to require credentials.
type Option func(*Options)

// Start runs a server for the test. Its data is in a temporary directory of the test.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, opts: server.Options{
		ServerName: "natstest",
		Host:       "127.0.0.1",
		Port:       port,
		JetStream:  true,
		StoreDir:   filepath.Join(t.TempDir(), "nats"),
		// By default it depends on the free disk space, of which the streams' limits may need more than tests write.
		JetStreamMaxStore: 64 << 30,
		NoSigs:            true,
		NoLog:             true,
	}}
	for _, o := range options {
		o(&s.opts)
	}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// URL returns the URL for clients; it does not change on Stop, Start and Wipe.
func (s *Server) URL() string {
	return fmt.Sprintf("nats://%s:%d", s.opts.Host, s.opts.Port)
}

// Start starts the server again after Stop, with its existing data. It does nothing if the server runs.
func (s *Server) Start() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.srv != nil {
		return
	}
	srv, err := server.NewServer(s.opts.Clone())
	if err != nil {
		s.t.Fatalf("create a NATS server: %v", err)
	}
	srv.Start()
	if !srv.ReadyForConnections(startTimeout) {
		srv.Shutdown()
		s.t.Fatalf("NATS server on %s was not ready after %s", s.URL(), startTimeout)
	}
	s.srv = srv
}

// Stop stops the server and returns when it is down. It does nothing if the server is stopped.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.srv == nil {
		return
	}
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
	s.srv = nil
}

// Wipe removes all data: it stops the server, removes its directory and starts it again.
func (s *Server) Wipe() {
	s.t.Helper()
	s.Stop()
	if err := os.RemoveAll(s.opts.StoreDir); err != nil {
		s.t.Fatalf("wipe the NATS server: %v", err)
	}
	s.Start()
}

// Server returns the running server, for tests that inspect it, or nil while it is stopped.
func (s *Server) Server() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.srv
}
