// Package httpapi answers over HTTP what the aggregator knows: the managed resources, one of
// them with evidence and history, and the lifecycle events as they come (server-sent events).
// It also serves the status page.
//
//	request ──► observe ──► limit ──► who (401, 503) ──► route ──► rights (403) ──► answer
//
// What is answered, and how errors look, is package statusapi of libs/contract. Every request
// but those for the page's own files is authenticated and authorised by the API server
// (libs/kube/access). Reading one object takes the right get on it; lists and streams hold
// what the caller may list, and a stream is asked about again while it runs. Whether an
// object exists is told only to those who may read it.
//
// Every replica serves, not only the leader. While the bus is away, resources are answered
// from the cluster and streams are 503.
//
// The document of the API is docs/openapi.yaml; docs/http-api.md has examples.
//
// Source: architecture D11; reference sections 2.4 and 3.6.
package httpapi
