package gateway

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"sigs.k8s.io/yaml"

	// Types that the configuration may name.
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dynamic_forward_proxy/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/dynamic_forward_proxy/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/health_check/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
)

// Config is what the stand-in uses of an Envoy's configuration.
type Config struct {
	// Addresses to listen on: queries, metrics and health, Envoy's own interface.
	Query, Stats, Admin string
	// Script is the Lua filter's.
	Script string
	// Domains are the authorities that have a route, a star standing for a beginning.
	Domains []string
	Retry   Retry
	Hosts   Hosts
}

// Retry is the policy of the queries' route.
type Retry struct {
	Times     int
	Base, Max time.Duration
	Headers   []string // of an answer that is asked for again
	Attempts  int      // to find a host that was not asked yet
	MaxBody   int      // a larger body is sent once
}

// Hosts is how engines are found and watched.
type Hosts struct {
	Refresh, Connect, Interval, Timeout time.Duration
	HealthPath, HealthHost              string
}

// Read reads an envoy.yaml. What Envoy's own types or their rules refuse is refused, and so is a missing part that the
// stand-in needs.
func Read(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	c, err := parse(text)
	if err != nil {
		return Config{}, fmt.Errorf("configuration %s: %w", path, err)
	}
	return c, nil
}

func parse(text []byte) (Config, error) {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return Config{}, err
	}
	var b bootstrapv3.Bootstrap
	if err := protojson.Unmarshal(raw, &b); err != nil {
		return Config{}, err
	}
	if err := b.ValidateAll(); err != nil {
		return Config{}, err
	}
	c := Config{Admin: address(b.GetAdmin().GetAddress())}
	for _, l := range b.GetStaticResources().GetListeners() {
		m, err := manager(l)
		if err != nil {
			return Config{}, fmt.Errorf("listener %s: %w", l.GetName(), err)
		}
		switch l.GetName() {
		case "query":
			c.Query = address(l.GetAddress())
			if err := c.queries(m, b.GetStaticResources().GetClusters()); err != nil {
				return Config{}, fmt.Errorf("listener query: %w", err)
			}
			c.Retry.MaxBody = int(l.GetPerConnectionBufferLimitBytes().GetValue())
		case "stats":
			c.Stats = address(l.GetAddress())
		default:
			return Config{}, fmt.Errorf("listener %s is unknown", l.GetName())
		}
	}
	if c.Query == "" || c.Stats == "" {
		return Config{}, errors.New("want the listeners query and stats")
	}
	return c, nil
}

func address(a *corev3.Address) string {
	s := a.GetSocketAddress()
	return net.JoinHostPort(s.GetAddress(), strconv.Itoa(int(s.GetPortValue())))
}

func manager(l *listenerv3.Listener) (*managerv3.HttpConnectionManager, error) {
	if len(l.GetFilterChains()) != 1 || len(l.GetFilterChains()[0].GetFilters()) != 1 {
		return nil, errors.New("want one chain of one filter")
	}
	var m managerv3.HttpConnectionManager
	if err := l.GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(&m); err != nil {
		return nil, err
	}
	return &m, m.ValidateAll()
}

// queries takes over the filters and the one route of the queries' listener.
func (c *Config) queries(m *managerv3.HttpConnectionManager, clusters []*clusterv3.Cluster) error {
	var names []string
	for _, f := range m.GetHttpFilters() {
		name := f.GetTypedConfig().MessageName().Parent().Parent().Name()
		names = append(names, string(name))
		if name == "lua" {
			var l luav3.Lua
			if err := f.GetTypedConfig().UnmarshalTo(&l); err != nil {
				return err
			}
			c.Script = l.GetDefaultSourceCode().GetInlineString()
		}
	}
	const want = "health_check lua dynamic_forward_proxy router"
	if got := strings.Join(names, " "); got != want {
		return fmt.Errorf("its filters are %s, want %s", got, want)
	}
	hosts := m.GetRouteConfig().GetVirtualHosts()
	if len(hosts) != 1 || len(hosts[0].GetRoutes()) != 1 {
		return errors.New("want one route")
	}
	c.Domains = hosts[0].GetDomains()
	route := hosts[0].GetRoutes()[0].GetRoute()
	c.Retry = retry(route.GetRetryPolicy())
	for _, cluster := range clusters {
		if cluster.GetName() == route.GetCluster() && len(cluster.GetHealthChecks()) == 1 {
			c.Hosts = engines(cluster)
			return nil
		}
	}
	return fmt.Errorf("its cluster %s with one health check is missing", route.GetCluster())
}

func retry(p *routev3.RetryPolicy) Retry {
	out := Retry{
		Times: int(p.GetNumRetries().GetValue()), Attempts: int(p.GetHostSelectionRetryMaxAttempts()),
		Base: span(p.GetRetryBackOff().GetBaseInterval()), Max: span(p.GetRetryBackOff().GetMaxInterval()),
	}
	for _, h := range p.GetRetriableHeaders() {
		out.Headers = append(out.Headers, h.GetName())
	}
	return out
}

func engines(c *clusterv3.Cluster) Hosts {
	check := c.GetHealthChecks()[0]
	return Hosts{
		Refresh: span(c.GetDnsRefreshRate()), Connect: span(c.GetConnectTimeout()), //nolint:staticcheck // as the operator sets it
		Interval: span(check.GetInterval()), Timeout: span(check.GetTimeout()),
		HealthPath: check.GetHttpHealthCheck().GetPath(), HealthHost: check.GetHttpHealthCheck().GetHost(),
	}
}

func span(d *durationpb.Duration) time.Duration { return d.AsDuration() }

// routed says whether an authority has a route.
func (c Config) routed(authority string) bool {
	for _, domain := range c.Domains {
		if suffix, ok := strings.CutPrefix(domain, "*"); ok && strings.HasSuffix(authority, suffix) && len(authority) > len(suffix) {
			return true
		}
		if domain == authority {
			return true
		}
	}
	return false
}
