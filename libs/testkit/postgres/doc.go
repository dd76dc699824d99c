// Package postgres gives a test databases on a real PostgreSQL server.
//
//	server := postgres.Shared(t)
//	name := server.Database(t)
//	server.Query(t, name, "SELECT 1")
//
// The server is private: it listens on a free port of loopback only, its data is in a temporary directory, and both
// are removed when the test binary ends, however it ends (see watchdog). It is shared by the tests of one test binary
// and started by the first call, in about two seconds. Passwords are checked, so that a test can tell a right one
// from a wrong one.
//
// The programs are those of PATH or of the newest version below /usr/lib/postgresql. If there are none and the test
// runs as root on Debian, the package postgresql is installed, without a server of its own, and a message is printed;
// otherwise the test fails and names the package to install. PostgreSQL does not run as root: there it runs as the
// user postgres or an unprivileged one.
package postgres
