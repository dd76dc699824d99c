package compose

import (
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// bridge creates the network through which containers reach the API server and returns a kubeconfig for them. The server
// listens on loopback: a proxy forwards connections to the machine's address in that network, which other machines cannot
// reach. TLS is end to end, including client certificates.
func (d *docker) bridge(t *testing.T, kubeconfig string) (network, inside string) {
	t.Helper()
	network = d.project + "-cluster"
	d.docker(t, "network", "create", "--label", projectLabel+"="+d.project, network)
	gateway := d.docker(t, "network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", network)
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Clusters {
		server, err := url.Parse(c.Server)
		if err != nil {
			t.Fatal(err)
		}
		c.TLSServerName = server.Hostname()
		server.Host = forward(t, gateway, server.Host)
		c.Server = server.String()
	}
	inside = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, inside); err != nil {
		t.Fatal(err)
	}
	return network, inside
}

// forward listens on a free port of an address and forwards connections to another address until the test ends.
func forward(t *testing.T, address, to string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // closed at the end of the test
			}
			go relay(from, to)
		}
	}()
	return listener.Addr().String()
}

// relay copies in both directions until one side closes the connection, and then closes the other side.
func relay(from net.Conn, address string) {
	to, err := net.Dial("tcp", address) //nolint:noctx // ends with either side
	if err != nil {
		closeAll(from)
		return
	}
	go func() {
		defer closeAll(from, to)
		if _, err := io.Copy(to, from); err != nil {
			return
		}
	}()
	defer closeAll(from, to)
	if _, err := io.Copy(from, to); err != nil {
		return
	}
}

// closeAll closes connections. It ignores those that the other direction has already closed.
func closeAll(all ...io.Closer) {
	for _, c := range all {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			continue
		}
	}
}

// kindProgram writes a stub of kind with one existing cluster. The stub logs its calls.
func kindProgram(t *testing.T, outside, inside string) (path, calls string) {
	t.Helper()
	dir := t.TempDir()
	path, calls = filepath.Join(dir, "kind"), filepath.Join(dir, "calls")
	script := strings.NewReplacer("DIR", dir, "OUTSIDE", outside, "INSIDE", inside).Replace(`#!/bin/sh
echo "$*" >> DIR/calls
case "$*" in
  "get clusters") [ ! -e DIR/there ] || echo flotilla ;;
  "create cluster "*) touch DIR/there ;;
  "get kubeconfig --name flotilla") cat OUTSIDE ;;
  "get kubeconfig --name flotilla --internal") cat INSIDE ;;
  "delete cluster --name flotilla") rm DIR/there ;;
  *) echo "kind: unexpected $*" >&2; exit 1 ;;
esac
`)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, calls
}
