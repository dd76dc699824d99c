// Package mysqlserver finds or starts a MySQL-compatible server. Supported are MySQL 8.4 and 9.x and MariaDB 10.11 and
// later.
//
// Start takes the first of these that works:
//
//  1. the server of the DSN in FLOTILLA_MYSQL_DSN; its user must be allowed to create databases;
//  2. a Docker container of FLOTILLA_MYSQL_IMAGE (mysql:9.7 by default), when a Docker daemon answers and the image is
//     there or can be pulled;
//  3. mysqld or mariadbd from PATH (or the usual sbin directories), run as a private server in its own directory, on
//     loopback, whatever another server on this machine does;
//  4. as root on Debian: the packages mariadb-server-core and mariadb-client-core are installed, which is said aloud, and
//     the server is then run as in 3. They start no service of their own.
//
// Config.Flavour selects one of the two. Servers of the other flavour are then skipped: the server of the variable,
// the image (mariadb:10.11 is used for MariaDB), and the programs, whose version is checked, since Debian's mysqld is
// MariaDB. Debian's stable suites have no MySQL, so 4. is for MariaDB alone, and for MySQL there is another way:
//
//  5. as root on Debian: debootstrap downloads mysql-server-core of Debian sid (MySQL 9.7) and its libraries into the
//     cache directory (see package cachedir), once for each machine; they are unpacked there, not installed, and the server
//     runs on the dynamic loader of that directory.
//
// When none works, the error lists why each did not and what to do.
//
// The tests (package mysqltest) throw their server away. The local stack (tools/stack) calls Start again on the same
// Config to find its server running, or to start it again with the data it had.
package mysqlserver
