// Package database opens the connection pool to MySQL or MariaDB.
//
// A DSN says where the server is; how we talk to it is decided here, since the
// defaults of driver and servers are traps: times are UTC and cut to microseconds
// (MySQL would round, MariaDB cut), text is compared as bytes, errors of content are
// errors (strict mode), and the packet limit is the server's own.
package database
