// Package maintenance renders the page that users see while the components are
// drained: a Deployment and, unless the user brings an image, the ConfigMap with
// the files that it serves.
//
// The page stands in for the web server: it listens on the web server's port, and
// the web server's Service is switched to its pods ([Selector]) once one is ready.
// Its path / answers 200 with the page, every other path leads there. nginx runs
// with configuration files that hold no text of the user's; the user's title and
// message reach only the page, escaped, and a body of the user's is served as it is.
//
// The package is pure. [resolve.MaintenancePage] settles all precedence before.
package maintenance
