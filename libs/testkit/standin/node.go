package standin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/standin/server"
)

// tries is how many addresses are tried; one of 16 million is rarely taken.
const tries = 5

// ErrRefused says that a node is going and took the query on no more.
var ErrRefused = errors.New("the engine refused the query, it is going")

// Node is one stand-in engine node.
type Node struct {
	// Address is its loopback address, without a port.
	Address string
	Ports   server.Ports

	cmd    *exec.Cmd
	log    *output
	client *http.Client
	ended  chan struct{}
	err    error // how it ended; read after ended
}

// Start runs a node until the test ends.
func Start(t testing.TB) *Node {
	t.Helper()
	n, err := Launch(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Kill() })
	return n
}

// Launch runs a node until Kill or Terminate, with so much time for its queries after
// Terminate. The context bounds the start only.
func Launch(ctx context.Context, grace time.Duration) (*Node, error) {
	path, marker, err := build(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := Ports()
	if err != nil {
		return nil, err
	}
	var all error
	for range tries {
		n := &Node{Address: address(), Ports: ports, log: &output{}, ended: make(chan struct{}), client: &http.Client{
			// One connection for each request: a node that went away is never asked through an old one.
			Transport: &http.Transport{DisableKeepAlives: true},
		}}
		//nolint:gosec,noctx // its own program, which outlives the start
		n.cmd = exec.Command(path, "-address", n.Address, "-grace", grace.String(), "-query-port", strconv.Itoa(ports.Query),
			"-health-port", strconv.Itoa(ports.Health), "-metrics-port", strconv.Itoa(ports.Metrics))
		n.cmd.Env = append(os.Environ(), marker)
		n.cmd.Stderr = n.log
		if err := n.begin(ctx); err != nil {
			all = errors.Join(all, fmt.Errorf("start a stand-in engine on %s: %w", n.Address, err))
			continue
		}
		return n, nil
	}
	return nil, all
}

// address is one of 127.1.0.1 to 127.254.255.254.
func address() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)) //nolint:gosec // no secret
}

// begin starts the process and waits until it listens.
func (n *Node) begin(ctx context.Context) error {
	stdout, err := n.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n') //nolint:errcheck // no line is an answer too
		said <- strings.TrimSpace(line)
		n.err = n.cmd.Wait()
		close(n.ended)
	}()
	select {
	case line := <-said:
		if line == "ready" {
			return nil
		}
		<-n.ended
		return fmt.Errorf("it said %q: %s: %w", line, n.log, n.err)
	case <-ctx.Done():
		n.Kill()
		return ctx.Err()
	}
}

// Query runs a query that lasts so long, and returns when it is answered. It is an error
// when it was cut, and [ErrRefused] when the node did not take it on.
func (n *Node) Query(ctx context.Context, length time.Duration) error {
	return n.query(ctx, length, false)
}

// Suspend runs a query that is counted as suspended.
func (n *Node) Suspend(ctx context.Context, length time.Duration) error {
	return n.query(ctx, length, true)
}

func (n *Node) query(ctx context.Context, length time.Duration, suspended bool) error {
	form := url.Values{"seconds": {strconv.FormatFloat(length.Seconds(), 'f', -1, 64)}, "suspended": {strconv.FormatBool(suspended)}}
	_, header, err := n.do(ctx, http.MethodPost, n.Ports.Query, "/query?"+form.Encode())
	if header.Get(server.Drained) != "" {
		return ErrRefused
	}
	return err
}

// Metrics changes how the metrics port behaves from the next request on.
func (n *Node) Metrics(ctx context.Context, mode server.Mode) error {
	_, _, err := n.do(ctx, http.MethodPost, n.Ports.Health, "/control/metrics?mode="+url.QueryEscape(string(mode)))
	return err
}

// Stats asks for the counts of queries, past the metrics port.
func (n *Node) Stats(ctx context.Context) (server.Stats, error) {
	var out server.Stats
	body, _, err := n.do(ctx, http.MethodGet, n.Ports.Health, "/control/stats")
	if err == nil {
		err = json.Unmarshal(body, &out)
	}
	return out, err
}

// Ready says whether the node is ready for queries.
func (n *Node) Ready(ctx context.Context) bool {
	_, _, err := n.do(ctx, http.MethodGet, n.Ports.Health, "/health/ready")
	return err == nil
}

// Live says whether the node answers at all.
func (n *Node) Live(ctx context.Context) bool {
	_, _, err := n.do(ctx, http.MethodGet, n.Ports.Health, "/health/live")
	return err == nil
}

func (n *Node) do(ctx context.Context, method string, port int, path string) ([]byte, http.Header, error) {
	address := "http://" + net.JoinHostPort(n.Address, strconv.Itoa(port)) + path
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

// Terminate asks the node to end, as a kubelet does, and does not wait.
func (n *Node) Terminate() { n.signal(syscall.SIGTERM) }

// Kill ends the node, cuts its queries, and waits until it is gone.
func (n *Node) Kill() {
	n.signal(syscall.SIGKILL)
	<-n.ended
}

// signal has no error to report: a process that has ended cannot be ended once more.
func (n *Node) signal(s syscall.Signal) {
	_ = n.cmd.Process.Signal(s) //nolint:errcheck // see above
}

// Ended is closed when the process is gone.
func (n *Node) Ended() <-chan struct{} { return n.ended }

// output keeps what a process says.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(o.text.String())
}
