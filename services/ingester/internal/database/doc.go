// Package database opens the connection pool to MySQL or MariaDB.
//
// A DSN names the server. This package sets the parameters of the connections, since the
// defaults of driver and servers are unsafe: times are in UTC and truncated to
// microseconds (MySQL would round, MariaDB truncate), text is compared as bytes, invalid
// content is an error (strict mode), and the packet limit is that of the server.
package database
