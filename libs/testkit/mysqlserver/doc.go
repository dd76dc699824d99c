// Package mysqlserver finds or starts a MySQL-compatible server. Supported are MySQL 8.4 and 9.x and MariaDB 10.11 and
// later.
//
// Start uses the first of these sources that works:
//
//  1. the server of the DSN in FLOTILLA_MYSQL_DSN; its user must be allowed to create databases;
//  2. a Docker container of FLOTILLA_MYSQL_IMAGE (mysql:9.7 by default), if a Docker daemon answers and the image
//     exists or can be pulled;
//  3. mysqld or mariadbd from PATH (or the usual sbin directories), run as a private server in its own directory, on
//     loopback, independent of other servers on this machine;
//  4. as root on Debian: Start prints a message, installs mariadb-server-core and mariadb-client-core, and runs the
//     server as in 3. These packages do not start a service.
//
// Config.Vendor selects one of the two. Servers of the other vendor are then skipped: the server of the variable,
// the image (mariadb:10.11 is used for MariaDB), and the programs, whose version is checked, since Debian's mysqld is
// MariaDB. Debian's stable suites have no MySQL, so 4. is for MariaDB only. MySQL has another source:
//
//  5. as root on Debian: debootstrap downloads mysql-server-core and mysql-client-core of Debian sid (MySQL 9.7) and their
//     libraries into the cache directory (see package cachedir), once per machine; they are unpacked there, not installed,
//     and the server runs on the dynamic loader of that directory.
//
// If none works, the error lists the reason for each and the remedies.
//
// Server.Program runs the client programs of the vendor: from PATH, from the directory of 5, or from mariadb-client, which
// is installed as in 4.
//
// Tests (package mysqltest) remove their server. The local stack (tools/stack) calls Start again with the same Config to
// find its running server, or to start it again with its existing data.
package mysqlserver
