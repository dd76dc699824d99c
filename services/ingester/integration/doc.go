// Package integration tries the whole ingester against a real API server, a real MySQL
// or MariaDB and a real JetStream. It holds tests only.
package integration
