// Package gateway renders the entry point of an instance: an Envoy that finds the engine
// that a query names and sends it there (reference 2.18).
//
// The names of engines are not configured. A Lua filter reads the name from the header
// X-Firebolt-Engine or the query parameter engine and makes the request's authority of
// it, the engine's cluster Service; a dynamic forward proxy resolves that name to the pods
// of the serving generation. So engines come, go and switch generations without a change
// of the gateway, and a rollout of the gateway is never part of a rollout of an engine.
//
// Two lines keep a request inside: the filter lets nothing but a DNS label into the
// authority, and the only route is for authorities that end like the Services of the
// instance's namespace, so that a request that the filter did not change has no route.
//
// The configuration is built from Envoy's own message types and checked by their own
// rules; docs/gateway.md describes what each setting is for. The package is pure.
package gateway
