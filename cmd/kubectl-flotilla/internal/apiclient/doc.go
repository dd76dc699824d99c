// Package apiclient finds the HTTP API of the status aggregator and sends the caller's credentials to it.
//
// Without an address it connects through the API server to a ready pod of the Service status-aggregator, as kubectl
// port-forward does, but without opening a port on this machine that other users could connect to.
//
// The connection is always HTTPS, whatever the Service declares: a Service that any user with permissions in the
// namespace can edit must not cause the token to be sent to an unauthenticated server.
//
// The aggregator checks bearer tokens only. The caller's own is used if there is one (from the kubeconfig, a file or
// an exec plugin). A client certificate, a password or an impersonation is valid for the API server only; for those
// the package requests a short-lived token of a ServiceAccount that the caller names. [Open] is the entry point.
package apiclient
