// Package maintenance renders the page that users see while the components are drained: a Deployment and, unless the
// user's image serves a page of its own, the ConfigMap with the files that it serves.
//
// The page replaces the web server: it listens on the web server's port, and the web
// server's Service selects its pods once one is ready. Its path / answers
// 200 with the page, paths that end in /health answer 200, and all others redirect
// to /. nginx runs with configuration files that hold no text of the user; the user's
// title and message reach only the page, escaped, and a body of the user is served
// unchanged.
//
// The package is pure. [resolve.MaintenancePage] resolves all precedence before.
package maintenance
