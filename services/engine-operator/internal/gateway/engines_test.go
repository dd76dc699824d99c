package gateway_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// executions counts, by query id, the attempts that reached an engine and the runs.
type executions struct {
	mu           sync.Mutex
	attemptCount map[string]int
	runs         map[string]int
	hosts        map[string]int // attempts by address
}

func newExecutions() *executions {
	return &executions{attemptCount: map[string]int{}, runs: map[string]int{}, hosts: map[string]int{}}
}

// attempt counts an attempt and returns its number, from 1.
func (l *executions) attempt(id, host string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attemptCount[id]++
	l.hosts[host]++
	return l.attemptCount[id]
}

// attempts returns how often a query was tried.
func (l *executions) attempts(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.attemptCount[id]
}

// attemptsAt returns how often a host was tried.
func (l *executions) attemptsAt(address string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hosts[address]
}

// count returns how often a query was run.
func (l *executions) count(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[id]
}

func (l *executions) record(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[id]++
}

// query is one attempt of a query at an engine.
type query struct {
	*executions
	host    *host
	conn    *net.TCPConn
	in      *bufio.Reader
	req     *http.Request
	id      string
	attempt int
}

// body reads the rest of the request.
func (q *query) body() { _, _ = io.Copy(io.Discard, q.req.Body) } // the fault is injected next

// run runs the query.
func (q *query) run() {
	q.body()
	q.record(q.id)
}

func (q *query) respond(status string, more ...string) {
	q.body()
	fmt.Fprintf(q.conn, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n%s\r\n", status, strings.Join(more, ""))
}

// drained responds like an engine that does not accept the query.
func (q *query) drained() { q.respond("503 Service Unavailable", "X-Firebolt-Drained: true\r\n") }

// reset closes with RST, finish with FIN.
func (q *query) reset()  { _ = q.conn.SetLinger(0); _ = q.conn.Close() } // the fault itself
func (q *query) finish() { _ = q.conn.Close() }                          // the fault itself

// serve behaves like a healthy engine.
func serve(q *query) {
	q.run()
	q.respond("200 OK")
}

// host is one engine pod: its own address, and a behavior that a test sets.
type host struct {
	address    string
	executions *executions

	mu       sync.Mutex
	listener net.Listener
	handler  func(*query)
	accepted func(*net.TCPConn) bool // called before any read; false stops processing
	unready  bool
	conns    map[net.Conn]struct{}
}

func (h *host) set(handler func(*query)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handler = handler
}

func (h *host) setAccepted(accepted func(*net.TCPConn) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.accepted = accepted
}

func (h *host) setReady(ready bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unready = !ready
}

// open listens on the address.
func (h *host) open(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", h.address) //nolint:noctx // nothing to cancel
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listener = l
	go h.accept(l)
}

// refuse closes the listener. Connections stay.
func (h *host) refuse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.listener.Close() // it may be closed already
}

// kill terminates the host like SIGKILL a process.
func (h *host) kill() {
	h.refuse()
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close() // the connection is lost on purpose
	}
}

func (h *host) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go h.connection(c.(*net.TCPConn))
	}
}

func (h *host) connection(c *net.TCPConn) {
	h.mu.Lock()
	h.conns[c] = struct{}{}
	accepted := h.accepted
	h.mu.Unlock()
	if accepted != nil && !accepted(c) {
		return
	}
	defer func() {
		_ = c.Close() // the behavior may have closed it
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.conns, c)
	}()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		h.mu.Lock()
		handler, unready := h.handler, h.unready
		h.mu.Unlock()
		if r.URL.Path == "/health/ready" {
			status := "200 OK"
			if unready {
				status = "503 Service Unavailable"
			}
			fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status)
			continue
		}
		q := &query{executions: h.executions, host: h, conn: c, in: in, req: r, id: r.Header.Get("X-Id")}
		q.attempt = h.executions.attempt(q.id, h.address)
		handler(q)
		return
	}
}

// dropPackets drops every further packet of a connection: no acknowledgment, no reset, as after the loss of a node.
func dropPackets(t *testing.T, c *net.TCPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		err = dropAll(raw)
	}
	if err != nil {
		t.Error(err)
	}
}

func dropAll(raw syscall.RawConn) error {
	dropFilter := &unix.SockFprog{Len: 1, Filter: &unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}}
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, dropFilter)
	})
	return errors.Join(err, failed)
}
