// Package postgres provides databases for tests on a real PostgreSQL server.
//
//	server := postgres.Shared(t)
//	name := server.Database(t)
//	server.Query(t, name, "SELECT 1")
//
// The tests of one test binary share a server, which the first call starts in about two seconds. It listens on a free
// port of loopback, and its data is in a temporary directory. Package watchdog removes both when the test binary exits.
// The server checks passwords, so that a test can detect a wrong one.
//
// The programs are those on PATH or of the newest version below /usr/lib/postgresql. If there are none and the test runs
// as root on Debian, the package prints a message and installs postgresql without creating its default server; otherwise
// the test fails and names the package to install. PostgreSQL does not run as root: for root, it runs as the user
// postgres or an unprivileged one.
package postgres
