// Package httpapi serves Michelangelo objects over HTTP: get, list and delete, with paths,
// objects and errors like those of the Kubernetes API.
//
// A get reads from the cluster first, and from storage when the object is not found there; a
// list reads from storage; a delete marks the object for the ingester, or closes the row of an
// object that lives in storage only. No other request creates or changes anything.
//
// The API server authenticates and authorizes every request (libs/kube/access), whichever
// store answers it. Every replica serves, not only the leader.
//
//	request ──► observe ──► limit ──► authenticate (401, 503) ──► route ──► authorize (403) ──► get | list | delete
//
// The API rejects a request that it cannot serve exactly: unknown parameters, fields, operators
// and options are a 400 error that names them. An unavailable store is a 503 error, never
// "not found".
//
// docs/openapi.yaml specifies the API; docs/http-api.md has examples.
//
// Source: architecture D7 and D11; reference section 4.5 (behavior and defects of the API server).
package httpapi
