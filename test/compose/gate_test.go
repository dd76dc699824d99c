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

// bridge makes the network by which containers reach the API server and returns a kubeconfig for them. The server stays
// on loopback: a connection to the address that this machine has in that network is passed on, and no one beyond this
// machine can make one. TLS and client certificates go through untouched.
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
		server.Host = passOn(t, gateway, server.Host)
		c.Server = server.String()
	}
	inside = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, inside); err != nil {
		t.Fatal(err)
	}
	return network, inside
}

// passOn listens at a free port of an address and passes connections on to another address until the test ends.
func passOn(t *testing.T, address, to string) string {
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

// relay copies both ways until one side ends; the other side then ends as well.
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

// closeAll closes connections, of which the other direction may have closed some.
func closeAll(all ...io.Closer) {
	for _, c := range all {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			continue
		}
	}
}

// kindProgram is a kind that has one cluster, which is there already. It keeps a log of its calls.
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
