// Package statusapi defines the paths, parameters and bodies of the status aggregator's
// HTTP API, for its server and its clients (the kubectl plugin, other Go programs). The
// page services/status-aggregator/docs/http-api.md describes the requests.
package statusapi
