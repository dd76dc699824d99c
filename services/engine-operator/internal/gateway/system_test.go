package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	dynamicv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dynamic_forward_proxy/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/protobuf/types/known/anypb"
)

const enginePort = 3473

// system is the real Envoy with the rendered configuration, except for its own addresses and the name server,
// in front of engine pods that share a name.
type system struct {
	*executions
	url    string
	hosts  []*host
	names  *nameServer
	client *http.Client
	next   atomic.Int64
}

// newSystem starts n engine pods, a name server that resolves them, and the gateway with edits of its query listener.
func newSystem(t *testing.T, n int, edits ...func(*managerv3.HttpConnectionManager)) *system {
	t.Helper()
	s := &system{executions: newExecutions(), names: newNameServer(t)}
	for _, a := range addresses(n) {
		h := &host{address: fmt.Sprintf("%s:%d", a, enginePort), executions: s.executions, handler: serve, conns: map[net.Conn]struct{}{}}
		h.open(t)
		t.Cleanup(h.kill)
		s.hosts = append(s.hosts, h)
	}
	s.names.set(s.hosts...)
	s.url = "http://" + gatewayOf(t, s.names.address, edits...) + "/"
	s.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 512}}
	t.Cleanup(s.client.CloseIdleConnections)
	if r := s.query(t.Context(), "first", nil); r.status != http.StatusOK {
		t.Fatalf("the first query: %+v", r)
	}
	return s
}

// addresses returns n loopback addresses that no other test uses at the same time.
func addresses(n int) []netip.Addr {
	a, b := byte(rand.IntN(250)+1), byte(rand.IntN(250))
	var out []netip.Addr
	for i := range n {
		out = append(out, netip.AddrFrom4([4]byte{127, a, b, byte(i + 1)}))
	}
	return out
}

func gatewayOf(t *testing.T, names netip.AddrPort, edits ...func(*managerv3.HttpConnectionManager)) string {
	t.Helper()
	config := configOf(t, instance("main", "data"))
	m := manager(t, config.GetStaticResources().GetListeners()[0])
	for _, edit := range edits {
		edit(m)
	}
	repack(t, config, m)
	query := loopback(t, config)
	engines := config.GetStaticResources().GetClusters()[0]
	cluster := unpack(t, engines.GetClusterType().GetTypedConfig(), &dynamicv3.ClusterConfig{})
	dns := cluster.GetSubClustersConfig().GetDnsClusterConfig()
	cares := unpack(t, dns.GetTypedDnsResolverConfig().GetTypedConfig(), &caresv3.CaresDnsResolverConfig{})
	cares.Resolvers = []*corev3.Address{{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Protocol: corev3.SocketAddress_UDP, Address: names.Addr().String(),
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(names.Port())},
	}}}}
	var err error
	if dns.TypedDnsResolverConfig.TypedConfig, err = anypb.New(cares); err != nil {
		t.Fatal(err)
	}
	if engines.GetClusterType().TypedConfig, err = anypb.New(cluster); err != nil {
		t.Fatal(err)
	}
	start(t, config)
	return query
}

// result is the result of a query for its client.
type result struct {
	id           string
	status       int // 0: no response
	drained      bool
	text         string
	truncated    bool // the response was truncated
	disconnected bool // the client disconnected before the end of the response
	duration     time.Duration
}

func (s *system) query(ctx context.Context, id string, body io.Reader) (out result) {
	start := time.Now()
	out.id = id
	defer func() { out.duration = time.Since(start) }()
	if body == nil {
		body = strings.NewReader("select 1")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, body)
	if err != nil {
		out.text = err.Error()
		return out
	}
	r.Header.Set("X-Firebolt-Engine", "etl")
	r.Header.Set("X-Id", id)
	response, err := s.client.Do(r)
	if err != nil {
		out.text, out.disconnected = err.Error(), ctx.Err() != nil
		return out
	}
	defer response.Body.Close() // only read
	text, err := io.ReadAll(response.Body)
	out.status, out.text, out.truncated, out.disconnected = response.StatusCode, string(text), err != nil, err != nil && ctx.Err() != nil
	out.drained = response.Header.Get("X-Firebolt-Drained") != ""
	return out
}

// load sends n queries with a number of clients. Its outcomes are those of the table in the documentation.
func (s *system) load(ctx context.Context, n, clients int, size int) []result {
	var out []result
	var mu sync.Mutex
	var running sync.WaitGroup
	remaining := atomic.Int64{}
	remaining.Store(int64(n))
	for range clients {
		running.Go(func() {
			for remaining.Add(-1) >= 0 && ctx.Err() == nil {
				var body io.Reader
				if size > 0 {
					body = bytes.NewReader(bytes.Repeat([]byte("x"), size))
				}
				r := s.query(ctx, fmt.Sprint("q", s.next.Add(1)), body)
				mu.Lock()
				out = append(out, r)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return out
}

// outcomes of a load: ok and failed as seen by clients, repeated and lost (ran and failed) as counted by engines.
type outcomes struct{ OK, Failed, Repeated, Lost int }

func (s *system) outcomes(results []result) outcomes {
	s.mu.Lock()
	defer s.mu.Unlock()
	var f outcomes
	for _, r := range results {
		if ok := r.status == http.StatusOK && !r.truncated; ok {
			f.OK++
		} else {
			f.Failed++
			if s.runs[r.id] > 0 {
				f.Lost++
			}
		}
		if s.runs[r.id] > 1 {
			f.Repeated++
		}
	}
	return f
}

// nameServer resolves each name to the addresses of the current hosts.
type nameServer struct {
	address netip.AddrPort
	mu      sync.Mutex
	hosts   []netip.Addr
}

func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) // the test ends
	s := &nameServer{address: conn.LocalAddr().(*net.UDPAddr).AddrPort()}
	go func() {
		in := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(in)
			if err != nil {
				return
			}
			if out := s.respond(in[:n]); out != nil {
				_, _ = conn.WriteToUDPAddrPort(out, from) // Envoy retries
			}
		}
	}()
	return s
}

func (s *nameServer) set(hosts ...*host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts = nil
	for _, h := range hosts {
		s.hosts = append(s.hosts, netip.MustParseAddrPort(h.address).Addr())
	}
}

func (s *nameServer) respond(in []byte) []byte {
	var question dnsmessage.Message
	if question.Unpack(in) != nil || len(question.Questions) != 1 {
		return nil
	}
	q := question.Questions[0]
	out := dnsmessage.Message{Header: dnsmessage.Header{ID: question.ID, Response: true, Authoritative: true}, Questions: question.Questions}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.Type == dnsmessage.TypeA {
		for _, a := range s.hosts {
			out.Answers = append(out.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 5},
				Body:   &dnsmessage.AResource{A: a.As4()},
			})
		}
	}
	packed, err := out.Pack()
	if err != nil {
		return nil
	}
	return packed
}
