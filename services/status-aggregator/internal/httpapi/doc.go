// Package httpapi serves the HTTP API of the aggregator: the managed resources, one resource
// with evidence and history, and the stream of lifecycle events (server-sent events).
// It also serves the status page.
//
//	request ──► observe ──► limit (429) ──► authenticate (401, 503) ──► limit per user (429) ──► route ──► authorize (403) ──► respond
//
// Package statusapi of libs/contract defines responses and errors. Every request, except for
// the files of the page, is authenticated and authorized by the API server
// (libs/kube/access). Reading one object requires the permission get on it; lists and streams
// contain what the caller may list, and a running stream is authorized again periodically.
// Only callers that may read an object learn whether it exists.
//
// Every replica serves, not only the leader. While the bus is unavailable, resources are
// served from the cluster and streams return 503.
//
// The document of the API is docs/openapi.yaml; docs/http-api.md has examples.
//
// Source: architecture D11; reference sections 2.4 and 3.6.
package httpapi
