package gateway

import (
	"strings"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	codecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	previousv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// drainedHeader marks the response of an engine that did not run the query.
	drainedHeader = "X-Firebolt-Drained"
	// ejectHeader makes Envoy eject the host until its next successful health check.
	ejectHeader = "x-envoy-immediate-health-check-fail"
	// retryBodyBytes is the maximum size of a query that is buffered for a retry until an engine responds.
	retryBodyBytes = 16 << 20
)

// retryOn lists the failures after which no engine has run the query: no connection, a reset before anything was sent,
// and the drained header. `reset` would repeat queries that lost their connection. Envoy ignores unknown tokens.
var retryOn = strings.Join([]string{"connect-failure", "refused-stream", "reset-before-request", "retriable-headers"}, ",")

// retries returns the policy for queries that no engine has run. Any response, also an error, is passed to the client. The
// retries last longer than the resolution of the addresses of a new generation takes.
func retries(p *anyPacker) *routev3.RetryPolicy {
	return &routev3.RetryPolicy{
		RetryOn:    retryOn,
		NumRetries: wrapperspb.UInt32(50),
		RetriableHeaders: []*routev3.HeaderMatcher{{
			Name: drainedHeader, HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true},
		}},
		RetryBackOff: &routev3.RetryPolicy_RetryBackOff{BaseInterval: millis(25), MaxInterval: millis(250)},
		RetryHostPredicate: []*routev3.RetryPolicy_RetryHostPredicate{{
			Name: "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{
				TypedConfig: p.pack(&previousv3.PreviousHostsPredicate{}),
			},
		}},
		HostSelectionRetryMaxAttempts: 5,
	}
}

// drainedFilters process the response of each attempt: a host that sets the drained header is ejected at once, even if its
// engine does not request that itself.
func drainedFilters(p *anyPacker) []*managerv3.HttpFilter {
	return []*managerv3.HttpFilter{
		filter(p, "envoy.filters.http.header_mutation", &mutationv3.HeaderMutation{Mutations: &mutationv3.Mutations{
			ResponseMutations: []*commonv3.HeaderMutation{{Action: &commonv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
				// Without the drained header the value is empty, and Envoy adds no empty header.
				Header:       &corev3.HeaderValue{Key: ejectHeader, Value: "%RESP(" + drainedHeader + ")%"},
				AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
			}}}},
		}}),
		filter(p, "envoy.filters.http.upstream_codec", &codecv3.UpstreamCodec{}),
	}
}
