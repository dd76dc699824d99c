// Package proxy serves the status page on this machine and adds the caller's credentials to requests to the aggregator.
//
// Every client of the proxy reads with the caller's permissions, and other users of the machine and every web page in
// the caller's browser can reach a loopback port. So a request must contain a secret in the path, name the proxy's
// own address as Host (another Host indicates DNS rebinding), and not come from another
// origin; only GET and HEAD are allowed. The proxy uses no cookies, since all ports of a host share them.
//
// A request for /api/v1/... without the secret is redirected to the path with it, if the Referer shows that it comes
// from the page itself. The secret never leaves in a Referer: the proxy sets the policy same-origin.
package proxy
