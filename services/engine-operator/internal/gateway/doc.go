// Package gateway renders the entry point of an instance: an Envoy that routes a query to
// the engine that it names (reference 2.18).
//
// The names of engines are not configured. A Lua filter reads the name from the header
// X-Firebolt-Engine or the query parameter engine and sets the request's authority to
// the engine's cluster Service; a dynamic forward proxy resolves that name to the pods
// of the serving generation. So engines are created, deleted and switched without a change
// of the gateway, and a rollout of the gateway is never part of a rollout of an engine.
//
// Two rules confine requests: the filter accepts only a DNS label as the engine's name, and the
// only route matches authorities with the suffix of the Services of the
// instance's namespace, so a request that the filter did not rewrite has no route.
//
// The configuration is built from Envoy's own message types and checked by their validation
// rules; docs/gateway.md describes the purpose of each setting. The package is pure.
package gateway
