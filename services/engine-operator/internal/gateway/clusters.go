package gateway

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	commondnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/common/dns/v3"
	dnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
	dynamicv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dynamic_forward_proxy/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// httpOptions is the key of a cluster's HTTP protocol options.
const httpOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// maxRequests limits connections, pending and running queries and their retries, for each engine and gateway pod.
// Each query uses its own connection, so all limits must be equal: only the smallest would apply.
const maxRequests = 1024

// enginesCluster is the template of each engine's cluster, which is created when the first query for
// the engine arrives: the dynamic forward proxy copies all fields except the address.
func enginesCluster(p *anyPacker) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: engineCluster,
		ClusterDiscoveryType: &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
			Name: "envoy.clusters.dynamic_forward_proxy",
			TypedConfig: p.pack(&dynamicv3.ClusterConfig{
				ClusterImplementationSpecifier: &dynamicv3.ClusterConfig_SubClustersConfig{
					SubClustersConfig: &dynamicv3.SubClustersConfig{
						LbPolicy:         clusterv3.Cluster_ROUND_ROBIN,
						MaxSubClusters:   wrapperspb.UInt32(1024),
						SubClusterTtl:    seconds(300),
						DnsClusterConfig: addresses(p),
					},
				},
			}),
		}},
		LbPolicy:                      clusterv3.Cluster_CLUSTER_PROVIDED,
		ConnectTimeout:                millis(250),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(bufferBytes),
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
			MaxConnections: wrapperspb.UInt32(maxRequests), MaxPendingRequests: wrapperspb.UInt32(maxRequests),
			// A retried query counts as a retry until it ends: a lower limit would fail queries after each switch.
			MaxRequests: wrapperspb.UInt32(maxRequests), MaxRetries: wrapperspb.UInt32(maxRequests),
		}}},
		HealthChecks: []*corev3.HealthCheck{engineHealth()},
		// Otherwise Envoy keeps an address that left the DNS while it is healthy, and pods of
		// a draining generation would receive new queries until they exit.
		IgnoreHealthOnHostRemoval: true,
		// A lost node sends nothing, not even a reset. Keepalive ends the connections that wait for its responses
		// within 11 s. TCP_USER_TIMEOUT would replace that bound, and also end those to a live engine that reads slowly.
		UpstreamConnectionOptions: &clusterv3.UpstreamConnectionOptions{TcpKeepalive: &corev3.TcpKeepalive{
			KeepaliveTime: wrapperspb.UInt32(5), KeepaliveInterval: wrapperspb.UInt32(2), KeepaliveProbes: wrapperspb.UInt32(3),
		}},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{httpOptions: p.pack(&upstreamv3.HttpProtocolOptions{
			CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{
				// The next query selects a pod again, so none sticks to an old generation.
				MaxRequestsPerConnection: wrapperspb.UInt32(1),
			},
			// A dynamic forward proxy requires these two; they have no effect without TLS.
			UpstreamHttpProtocolOptions: &corev3.UpstreamHttpProtocolOptions{AutoSni: true, AutoSanValidation: true},
			UpstreamProtocolOptions: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_{
				ExplicitHttpConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig{
					ProtocolConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{
						HttpProtocolOptions: &corev3.Http1ProtocolOptions{},
					},
				},
			},
		})},
	}
}

// addresses resolves the pods of an engine continuously: a switch of generations is detected within a second, well before
// the retries are exhausted.
func addresses(p *anyPacker) *dnsv3.DnsCluster {
	return &dnsv3.DnsCluster{
		DnsRefreshRate:  seconds(1),
		DnsLookupFamily: commondnsv3.DnsLookupFamily_V4_PREFERRED,
		TypedDnsResolverConfig: p.extension("envoy.network.dns_resolver.cares", &caresv3.CaresDnsResolverConfig{
			// The names are fully qualified: with search domains each would be looked up four times.
			DnsResolverOptions: &corev3.DnsResolverOptions{NoDefaultSearchDomain: true},
		}),
	}
}

// engineHealth checks each pod on the query port: a pod that responds there accepts queries.
func engineHealth() *corev3.HealthCheck {
	return &corev3.HealthCheck{
		Timeout: millis(500), Interval: seconds(1),
		// Without traffic to the cluster, Envoy checks only once a minute by default.
		NoTrafficInterval:  seconds(1),
		UnhealthyThreshold: wrapperspb.UInt32(1), HealthyThreshold: wrapperspb.UInt32(1),
		HealthChecker: &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{
			// The default host is the cluster's name, which is not a valid host: it contains colons.
			Host: "firebolt-gateway", Path: "/health/ready",
		}},
	}
}

// adminCluster routes to Envoy's admin interface, for its metrics.
func adminCluster() *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 adminName,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:       millis(250),
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: adminName,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
					Address: address(loopback, names.PortEnvoyAdmin),
				}},
			}}}},
		},
	}
}
