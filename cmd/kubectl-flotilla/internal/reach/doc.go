// Package reach finds the status aggregator's HTTP API and brings the caller's credentials there.
//
// Without an address it goes through the API server to a ready pod of the Service status-aggregator, as kubectl
// port-forward does, but without opening a port on this machine that other users could connect to.
//
// The connection is always https, whatever the Service says: a Service that anybody with rights in the namespace can edit
// must not decide that the token goes to a server that proves nothing.
//
// The aggregator checks bearer tokens only. The caller's own is used if there is one (from the kubeconfig, a file or an
// exec plugin). A client certificate, a password or an impersonation ends at the API server; for those the API server is
// asked for a short-lived token of a ServiceAccount that the caller names. [Open] is the entry point.
package reach
