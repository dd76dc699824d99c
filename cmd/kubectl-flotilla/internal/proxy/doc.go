// Package proxy serves the status page on this machine and adds the caller's credentials on the way to the aggregator.
//
// Whoever can ask the proxy reads with the caller's rights, and other users of the machine and every web page in the
// caller's browser can reach a loopback port. So a request must know a secret that stands in the path of the page's
// address, name the proxy's own address as Host (else another name was resolved to this machine, DNS rebinding), and
// come from no other origin; only GET and HEAD pass. Nothing is kept in cookies, which every port of a host shares.
//
// A page that asks for /api/v1/... without the secret is redirected to the path with it, if the Referer shows that the
// request comes from the page itself. The secret never leaves in a Referer: the proxy sets the policy same-origin.
package proxy
