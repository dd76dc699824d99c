package apiclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// tunnel opens connections to a pod through the API server. They share one stream connection. When it breaks, the tunnel
// opens a new one to a pod that is ready then.
type tunnel struct {
	config    *rest.Config
	kube      kubernetes.Interface
	namespace string

	mu     sync.Mutex
	shared httpstream.Connection
	to     target
	opened int
}

// DialContext implements the DialContext of http.Transport. It ignores the address: there is one destination.
func (t *tunnel) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.shared
	conn, err := t.dial(ctx)
	if err != nil && old != nil && t.shared == nil {
		conn, err = t.dial(ctx) // the shared connection was closed
	}
	return conn, err
}

func (t *tunnel) dial(ctx context.Context) (net.Conn, error) {
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	t.opened++
	conn, err := open(t.shared, t.to, t.opened)
	if err != nil {
		err = errors.Join(fmt.Errorf("open a connection to pod %s: %w", t.to.pod, err), t.shared.Close())
		t.shared = nil
		return nil, err
	}
	return conn, nil
}

func (t *tunnel) connect(ctx context.Context) error {
	if t.shared != nil {
		select {
		case <-t.shared.CloseChan():
		default:
			return nil
		}
	}
	to, err := t.locate(ctx)
	if err != nil {
		return err
	}
	dialer, err := t.dialer(t.kube.CoreV1().RESTClient().Post().
		Resource("pods").Namespace(t.namespace).Name(to.pod).SubResource("portforward").URL())
	if err != nil {
		return err
	}
	shared, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return fmt.Errorf("forward a port to pod %s/%s: %w", t.namespace, to.pod, err)
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		return errors.Join(fmt.Errorf("forward a port to pod %s/%s: unexpected protocol %q", t.namespace, to.pod, protocol), shared.Close())
	}
	t.shared, t.to = shared, to
	return nil
}

// dialer tries WebSocket first, and SPDY if the server or a proxy supports nothing else.
func (t *tunnel) dialer(u *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(t.config)
	if err != nil {
		return nil, fmt.Errorf("prepare a port-forward: %w", err)
	}
	spdyDialer := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, u)
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, t.config)
	if err != nil {
		return nil, fmt.Errorf("prepare a port-forward: %w", err)
	}
	return portforward.NewFallbackDialerForStreaming(websocket, spdyDialer, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// open opens the two streams of one forwarded connection.
func open(shared httpstream.Connection, to target, id int) (net.Conn, error) {
	header := http.Header{}
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	header.Set(corev1.PortHeader, strconv.Itoa(int(to.port)))
	header.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(id))
	errorStream, err := shared.CreateStream(header)
	if err != nil {
		return nil, fmt.Errorf("create the error stream: %w", err)
	}
	if err := errorStream.Close(); err != nil { // the client never writes to it
		return nil, fmt.Errorf("close the sending half of the error stream: %w", err)
	}
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := shared.CreateStream(header)
	if err != nil {
		shared.RemoveStreams(errorStream)
		return nil, fmt.Errorf("create the data stream: %w", err)
	}
	c := &conn{
		Stream: data, shared: shared, errorStream: errorStream, pod: podName(to.pod),
		errorRead: make(chan struct{}), closed: make(chan struct{}),
	}
	go c.listen()
	return c, nil
}

// errorGrace is how long after the end of the data the server may still send the error that ended the connection.
const errorGrace = time.Second

// conn is one forwarded connection.
type conn struct {
	httpstream.Stream
	shared      httpstream.Connection
	errorStream httpstream.Stream
	pod         podName
	remoteErr   string        // valid after the channel is closed
	errorRead   chan struct{} // closed when the error stream ends
	closed      chan struct{}
	once        sync.Once
}

func (c *conn) listen() {
	defer close(c.errorRead)
	text, err := io.ReadAll(c.errorStream)
	if c.remoteErr = string(text); err == nil && len(text) == 0 {
		return
	}
	if c.Reset() != nil {
		return // the data has ended already
	}
}

// Read returns the error that the server sent, if any, instead of io.EOF.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if err == nil || n > 0 {
		return n, err // io.EOF must not be wrapped
	}
	select {
	case <-c.errorRead:
		if c.remoteErr != "" {
			return 0, fmt.Errorf("port-forward: %s", c.remoteErr)
		}
	case <-c.closed:
	case <-time.After(errorGrace):
	}
	return 0, err // io.EOF must not be wrapped
}

// Close closes the connection; unsent data is dropped.
func (c *conn) Close() error {
	var err error
	c.once.Do(func() {
		close(c.closed)
		err = errors.Join(c.Reset(), c.errorStream.Reset())
		c.shared.RemoveStreams(c.Stream, c.errorStream)
	})
	return err
}

type podName string

func (a podName) Network() string { return "port-forward" }
func (a podName) String() string  { return string(a) }

// net.Conn requires addresses and deadlines. Requests use contexts instead of deadlines.

func (c *conn) LocalAddr() net.Addr              { return c.pod }
func (c *conn) RemoteAddr() net.Addr             { return c.pod }
func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
