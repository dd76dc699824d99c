package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/flotilla-dev/flotilla/libs/testkit/envoy"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// headers are those of a request or a response: names in lower case, values in their order.
type headers map[string][]string

func (h headers) clone() headers {
	out := headers{}
	for k, v := range h {
		out[strings.ToLower(k)] = slices.Clone(v)
	}
	return out
}

func (h headers) first(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// outcome is the result of a request: its headers as received by the engine, or a response of the gateway itself.
type outcome struct {
	Headers headers
	Status  string
	Type    string
	Body    string
}

// filtering is an Envoy with the query listener and the filters of an instance, whose engines are one server that responds
// with the received request, byte by byte.
type filtering struct {
	address   string
	conn      net.Conn
	responses *bufio.Reader
}

func newFiltering(t testing.TB, i *v1alpha1.FireboltInstance) *filtering {
	t.Helper()
	config := configOf(t, i)
	query := loopback(t, config)
	m := manager(t, config.GetStaticResources().GetListeners()[0])
	m.HttpFilters = slices.DeleteFunc(m.GetHttpFilters(), func(f *managerv3.HttpFilter) bool {
		return f.GetName() == "envoy.filters.http.dynamic_forward_proxy"
	})
	m.GetRouteConfig().GetVirtualHosts()[0].Domains = []string{"*"} // fails requests that the filter should have rejected
	repack(t, config, m)
	config.StaticResources.Clusters[0] = static(echo(t))
	start(t, config)
	return &filtering{address: query}
}

// loopback moves an Envoy's listeners to free ports of 127.0.0.1 and returns the address of the query listener.
func loopback(t testing.TB, config *bootstrapv3.Bootstrap) string {
	t.Helper()
	ports, err := freeport.Pick(3)
	if err != nil {
		t.Fatal(err)
	}
	listeners := config.GetStaticResources().GetListeners()
	for n, a := range []*corev3.Address{config.GetAdmin().GetAddress(), listeners[0].GetAddress(), listeners[1].GetAddress()} {
		a.GetSocketAddress().Address = "127.0.0.1"
		a.GetSocketAddress().PortSpecifier = &corev3.SocketAddress_PortValue{PortValue: uint32(ports[n])}
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[1])
}

// repack packs the changed connection manager into the query listener.
func repack(t testing.TB, config *bootstrapv3.Bootstrap, m *managerv3.HttpConnectionManager) {
	t.Helper()
	packed, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	config.GetStaticResources().GetListeners()[0].GetFilterChains()[0].GetFilters()[0].GetTypedConfig().Value = packed.GetValue()
}

func start(t testing.TB, config *bootstrapv3.Bootstrap) {
	t.Helper()
	text, err := protojson.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	admin := config.GetAdmin().GetAddress().GetSocketAddress()
	envoy.Start(t, string(text), fmt.Sprintf("%s:%d", admin.GetAddress(), admin.GetPortValue()))
}

func static(host string, port uint32) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: "engines", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{ClusterName: "engines", Endpoints: []*endpointv3.LocalityLbEndpoints{{
			LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
				Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
					Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
				}}},
			}}}},
		}}},
	}
}

// echo responds to each request with its head.
func echo(t testing.TB) (host string, port uint32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // nothing to cancel
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // the test ends
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close() // Envoy detects it
				for in := bufio.NewReader(c); ; {
					head, err := readHead(in)
					if err != nil {
						return
					}
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(head), head)
				}
			}()
		}
	}()
	a := l.Addr().(*net.TCPAddr)
	return a.IP.String(), uint32(a.Port)
}

func readHead(in *bufio.Reader) (string, error) {
	var head strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		head.WriteString(line)
		if line == "\r\n" {
			return head.String(), nil
		}
	}
}

// request sends one request with arbitrary values.
func (e *filtering) request(t testing.TB, in headers) outcome {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nhost: %s\r\n", in.first(":method"), in.first(":path"), in.first(":authority"))
	for name, values := range in {
		for _, v := range values {
			if !strings.HasPrefix(name, ":") {
				fmt.Fprintf(&text, "%s: %s\r\n", name, v)
			}
		}
	}
	text.WriteString("content-length: 0\r\n\r\n")
	if e.conn == nil {
		var err error
		if e.conn, err = net.Dial("tcp", e.address); err != nil { //nolint:noctx // loopback
			t.Fatal(err)
		}
		e.responses = bufio.NewReader(e.conn)
	}
	if _, err := io.WriteString(e.conn, text.String()); err != nil {
		t.Fatalf("request %q: %v", in, err)
	}
	response, err := http.ReadResponse(e.responses, nil)
	if err != nil {
		t.Fatalf("request %q: %v", in, err)
	}
	defer response.Body.Close() // the connection is kept
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("request %q: %v", in, err)
	}
	if response.Close {
		e.conn.Close()
		e.conn = nil
	}
	if response.StatusCode != http.StatusOK {
		return outcome{Headers: in.clone(), Status: fmt.Sprint(response.StatusCode), Type: response.Header.Get("Content-Type"), Body: string(body)}
	}
	return outcome{Headers: parse(t, string(body))}
}

// parse reads a request's head, without the headers that Envoy adds itself.
func parse(t testing.TB, head string) headers {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(head, "\r\n\r\n"), "\r\n")
	method, tail, _ := strings.Cut(lines[0], " ")
	path, ok := strings.CutSuffix(tail, " HTTP/1.1")
	if !ok {
		t.Fatalf("the engine got %q", head)
	}
	out := headers{":method": {method}, ":path": {path}}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "host":
			name = ":authority"
		case "content-length", "x-forwarded-proto", "x-forwarded-for", "x-envoy-external-address", "x-request-id":
			continue
		}
		out[name] = append(out[name], value)
	}
	return out
}
