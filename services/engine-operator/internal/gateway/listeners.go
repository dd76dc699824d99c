package gateway

import (
	_ "embed"
	"fmt"
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	dynamicv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/dynamic_forward_proxy/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/health_check/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// selector is the body of the Lua filter; [selectorOf] completes it.
//
//go:embed select.lua
var selector string

// authoritySuffix returns what follows an engine's name in the authority of its cluster Service.
func authoritySuffix(namespace string) string {
	return fmt.Sprintf("%s:%d", names.ServiceHost(names.Cluster(""), namespace), names.PortQuery)
}

// selectorOf returns the Lua filter's script for a namespace. A namespace is a DNS label, so
// its Go string literal is also a valid Lua literal.
func selectorOf(namespace string) string {
	return fmt.Sprintf("local SUFFIX = %q\n\n%s", authoritySuffix(namespace), selector)
}

// queryListener accepts queries: health check, selection of the engine, name resolution, routing.
func queryListener(p *anyPacker, namespace string, listen netip.Addr) *listenerv3.Listener {
	l := listener(p, "query", listen, names.PortGateway, &managerv3.HttpConnectionManager{
		StatPrefix:        "query",
		StreamIdleTimeout: seconds(300),
		UseRemoteAddress:  wrapperspb.Bool(true),
		HttpFilters: []*managerv3.HttpFilter{
			healthFilter(p),
			filter(p, "envoy.filters.http.lua", &luav3.Lua{DefaultSourceCode: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: selectorOf(namespace)},
			}}),
			filter(p, "envoy.filters.http.dynamic_forward_proxy", &dynamicv3.FilterConfig{
				ImplementationSpecifier: &dynamicv3.FilterConfig_SubClusterConfig{
					SubClusterConfig: &dynamicv3.SubClusterConfig{ClusterInitTimeout: seconds(5)},
				},
			}),
			filter(p, "envoy.filters.http.router", &routerv3.Router{UpstreamHttpFilters: drainedFilters(p)}),
		},
	}, &routev3.VirtualHost{
		Name: engineCluster,
		// The header is for this Envoy, not for a proxy in front of it.
		ResponseHeadersToRemove: []string{ejectHeader},
		// Only hosts that the filter has set: if the filter fails, Envoy continues without it.
		Domains: []string{"*" + authoritySuffix(namespace)},
		Routes: []*routev3.Route{{
			Match:                  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			RequestBodyBufferLimit: wrapperspb.UInt64(retryBodyBytes),
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: engineCluster},
				Timeout:          seconds(0), // queries have no time limit
				RetryPolicy:      retries(p),
			}},
		}},
	})
	l.PerConnectionBufferLimitBytes = wrapperspb.UInt32(bufferBytes)
	return l
}

// statsListener exposes metrics and health, and no other part of Envoy's admin interface.
func statsListener(p *anyPacker, listen netip.Addr, port int32) *listenerv3.Listener {
	return listener(p, "stats", listen, port, &managerv3.HttpConnectionManager{
		StatPrefix:  "stats",
		HttpFilters: []*managerv3.HttpFilter{healthFilter(p), filter(p, "envoy.filters.http.router", &routerv3.Router{})},
	}, &routev3.VirtualHost{
		Name: adminName, Domains: []string{"*"},
		Routes: []*routev3.Route{{
			Match: &routev3.RouteMatch{
				PathSpecifier: &routev3.RouteMatch_Path{Path: metricsPath},
				Headers: []*routev3.HeaderMatcher{{
					Name: ":method", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: exactly("GET")},
				}},
			},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: adminName},
			}},
		}},
	})
}

func listener(
	p *anyPacker, name string, listen netip.Addr, port int32, m *managerv3.HttpConnectionManager, host *routev3.VirtualHost,
) *listenerv3.Listener {
	m.RouteSpecifier = &managerv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
		Name: name, VirtualHosts: []*routev3.VirtualHost{host},
	}}
	at := address(listen.String(), port)
	at.GetSocketAddress().Ipv4Compat = listen.Is6() // on :: also accept IPv4
	return &listenerv3.Listener{
		Name: name, Address: at,
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: p.pack(m)},
		}}}},
	}
}

func filter(p *anyPacker, name string, m message) *managerv3.HttpFilter {
	return &managerv3.HttpFilter{Name: name, ConfigType: &managerv3.HttpFilter_TypedConfig{TypedConfig: p.pack(m)}}
}

// healthFilter responds to /healthz itself: 200, or 503 once the pod terminates.
func healthFilter(p *anyPacker) *managerv3.HttpFilter {
	return filter(p, "envoy.filters.http.health_check", &healthv3.HealthCheck{
		PassThroughMode: wrapperspb.Bool(false),
		Headers: []*routev3.HeaderMatcher{{
			Name: ":path", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: exactly(healthPath)},
		}},
	})
}

func exactly(s string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: s}}
}
