// Package mysqlserver finds or starts a MySQL-compatible server. Supported are MySQL 8.4 and 9.x and MariaDB 10.11 and
// later.
//
// Start takes the first of these that works:
//
//  1. the server of the DSN in FLOTILLA_MYSQL_DSN; its user must be allowed to create databases;
//  2. a Docker container of FLOTILLA_MYSQL_IMAGE (mysql:8.4 by default), when a Docker daemon answers and the image is
//     there or can be pulled;
//  3. mysqld or mariadbd from PATH (or the usual sbin folders), run as a private server in a folder of its own, on
//     loopback, whatever another server on this machine does;
//  4. as root on Debian: the packages mariadb-server-core and mariadb-client-core are installed, which is said aloud, and
//     the server is then run as in 3. They start no service of their own.
//
// When none works, the error lists why each did not and what to do.
//
// The tests (package mysqltest) throw their server away. The local stack (tools/stack) calls Start again on the same
// Config to find its server running, or to start it again with the data it had.
package mysqlserver
