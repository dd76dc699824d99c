// Package integration tests the whole ingester with a real API server, a real MySQL or
// MariaDB and a real JetStream. It contains only tests.
package integration
