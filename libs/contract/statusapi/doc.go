// Package statusapi holds what the status aggregator's HTTP API says, for its server and
// for clients of it (the kubectl plugin, other Go programs). The page
// services/status-aggregator/docs/http-api.md describes the requests.
package statusapi
