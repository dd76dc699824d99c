package service

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

// gateway is a proxy to the API server that a test can open and close.
type gateway struct {
	t          *testing.T
	kubeconfig string
	target     string
	address    string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newGateway(t *testing.T, kubeconfig string) *gateway {
	t.Helper()
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, address: fmt.Sprint("127.0.0.1:", port), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	for _, c := range cfg.Clusters {
		server, err := url.Parse(c.Server)
		if err != nil {
			t.Fatal(err)
		}
		g.target = server.Host
		server.Host = g.address
		c.Server = server.String()
	}
	if err := clientcmd.WriteToFile(*cfg, g.kubeconfig); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.close)
	return g
}

func (g *gateway) open() {
	g.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(g.t.Context(), "tcp", g.address)
	if err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	g.listener = listener
	g.mu.Unlock()
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(g.t.Context(), "tcp", g.target)
			if err != nil {
				g.t.Error(errors.Join(err, in.Close()))
				return
			}
			g.mu.Lock()
			g.conns = append(g.conns, in, out)
			g.mu.Unlock()
			go pipe(in, out)
			go pipe(out, in)
		}
	}()
}

// pipe ends when either side is closed, as when the gateway closes.
func pipe(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil && !errors.Is(err, net.ErrClosed) {
		return
	}
}

func (g *gateway) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listener == nil {
		return
	}
	errs := []error{g.listener.Close()}
	for _, c := range g.conns {
		errs = append(errs, c.Close())
	}
	g.listener, g.conns = nil, nil
	if err := errors.Join(errs...); err != nil && !errors.Is(err, os.ErrClosed) {
		g.t.Log(err)
	}
}
