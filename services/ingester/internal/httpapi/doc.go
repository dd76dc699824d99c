// Package httpapi answers questions about Michelangelo objects over HTTP: get, list and
// delete, with paths, objects and errors like those of the Kubernetes API.
//
// A get asks the cluster first and storage when the object is not there; a list asks
// storage; a delete marks the object for the ingester, or closes the row of an object that
// lives in storage only. Nothing is created or changed otherwise.
//
// Every request is authenticated and authorised by the API server (libs/kube/access),
// whichever store answers it. Every replica serves, not only the leader.
//
//	request ──► observe ──► limit ──► gate (401, 503) ──► route ──► rights (403) ──► get | list | delete
//
// A question that cannot be answered exactly as it was put is refused: unknown parameters,
// fields, operators and options are 400 and named, never ignored. A store that does not
// answer is 503, never "not found".
//
// The document of the API is docs/openapi.yaml; docs/http-api.md has examples.
//
// Source: architecture D7 and D11; reference section 4.5 (the API server's behaviour and defects).
package httpapi
