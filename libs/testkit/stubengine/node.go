package stubengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
)

const (
	program = "github.com/flotilla-dev/flotilla/libs/testkit/stubengine/cmd/stub-engine"
	// attempts bounds the number of addresses to try; a random one of 16 million is rarely in use.
	attempts = 5
)

// ErrRefused is returned if a terminating node rejects the query.
var ErrRefused = errors.New("terminating engine rejected the query")

// PortNumbers are the ports of an engine.
type PortNumbers struct{ Query, Health, Metrics int }

// Ports returns the ports of all nodes of this test binary. They are free on all addresses when they are picked.
var Ports = sync.OnceValues(func() (PortNumbers, error) {
	free, err := freeport.Pick(3)
	if err != nil {
		return PortNumbers{}, err
	}
	return PortNumbers{Query: free[0], Health: free[1], Metrics: free[2]}, nil
})

// Node is one stub engine node.
type Node struct {
	// Address is its loopback address, without a port.
	Address string
	Ports   PortNumbers

	*proc.Child
	client *http.Client
}

// Start runs a node until the test ends.
func Start(t testing.TB) *Node {
	t.Helper()
	n, err := Launch(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Kill)
	return n
}

// Launch runs a node until Kill or Terminate. After Terminate, queries may run for the grace
// period. The context bounds the start only.
func Launch(ctx context.Context, grace time.Duration) (*Node, error) {
	built, err := goprogram.Build(ctx, program)
	if err != nil {
		return nil, err
	}
	ports, err := Ports()
	if err != nil {
		return nil, err
	}
	var all error
	for range attempts {
		n := &Node{Address: address(), Ports: ports, client: &http.Client{
			// One connection for each request: a request never uses an old connection to a stopped node.
			Transport: &http.Transport{DisableKeepAlives: true},
		}}
		n.Child, err = built.Start(nil, "-grace", grace.String(), "-query-address", n.at(ports.Query),
			"-health-address", n.at(ports.Health), "-metrics-address", n.at(ports.Metrics))
		if err == nil {
			err = n.waitReady(ctx)
		}
		if err == nil {
			return n, nil
		}
		all = errors.Join(all, fmt.Errorf("start a stub engine on %s: %w", n.Address, err))
	}
	return nil, all
}

// address returns a random address from 127.1.0.1 to 127.254.255.254.
func address() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

func (n *Node) at(port int) string { return net.JoinHostPort(n.Address, strconv.Itoa(port)) }

func (n *Node) waitReady(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return n.Ready(ctx), n.Running()
	})
	if err != nil {
		n.Kill()
	}
	return err
}

// Query runs a query of the given length and returns when it is answered. It returns an
// error if the query was cut off, and [ErrRefused] if the node rejected it.
func (n *Node) Query(ctx context.Context, length time.Duration) error {
	return n.query(ctx, length, "sleep")
}

// Suspend runs a query that is counted as suspended.
func (n *Node) Suspend(ctx context.Context, length time.Duration) error {
	return n.query(ctx, length, "suspend")
}

func (n *Node) query(ctx context.Context, length time.Duration, kind string) error {
	_, header, err := n.do(ctx, http.MethodPost, n.Ports.Query, "/?"+kind+"="+length.String())
	if header.Get(server.Drained) != "" {
		return ErrRefused
	}
	return err
}

// Metrics sets the behavior of the metrics port for all further requests.
func (n *Node) Metrics(ctx context.Context, mode server.Mode) error {
	_, _, err := n.do(ctx, http.MethodPost, n.Ports.Health, "/control/metrics?mode="+url.QueryEscape(string(mode)))
	return err
}

// Freeze makes the node hang: it accepts connections, answers nothing and ignores SIGTERM.
func (n *Node) Freeze(ctx context.Context) error {
	_, _, err := n.do(ctx, http.MethodPost, n.Ports.Health, "/control/freeze")
	return err
}

// Stats returns the query counts without using the metrics port.
func (n *Node) Stats(ctx context.Context) (server.Stats, error) {
	var out server.Stats
	body, _, err := n.do(ctx, http.MethodGet, n.Ports.Health, "/control/stats")
	if err == nil {
		err = json.Unmarshal(body, &out)
	}
	return out, err
}

// Ready reports whether the node is ready for queries.
func (n *Node) Ready(ctx context.Context) bool {
	_, _, err := n.do(ctx, http.MethodGet, n.Ports.Health, "/health/ready")
	return err == nil
}

// Live reports whether the node answers its liveness probe.
func (n *Node) Live(ctx context.Context) bool {
	_, _, err := n.do(ctx, http.MethodGet, n.Ports.Health, "/health/live")
	return err == nil
}

func (n *Node) do(ctx context.Context, method string, port int, path string) ([]byte, http.Header, error) {
	address := "http://" + n.at(port) + path
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("make request: %w", err)
	}
	res, err := n.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: status %s: %s", method, path, res.Status, strings.TrimSpace(string(body)))
	}
	return body, res.Header, err
}

// Terminate sends SIGTERM to the node, like a kubelet, and does not wait.
func (n *Node) Terminate() { n.Signal(syscall.SIGTERM) }
