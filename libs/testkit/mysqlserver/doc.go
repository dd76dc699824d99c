// Package mysqlserver finds or starts a MySQL-compatible server. Supported are MySQL 8.4 and 9.x and MariaDB 10.11 and
// later.
//
// Start takes the first of these that works:
//
//  1. the server of the DSN in FLOTILLA_MYSQL_DSN; its user must be allowed to create databases;
//  2. a Docker container of FLOTILLA_MYSQL_IMAGE (mysql:9.7 by default), when a Docker daemon answers and the image is
//     there or can be pulled;
//  3. mysqld or mariadbd from PATH (or the usual sbin folders), run as a private server in a folder of its own, on
//     loopback, whatever another server on this machine does;
//  4. as root on Debian: the packages mariadb-server-core and mariadb-client-core are installed, which is said aloud, and
//     the server is then run as in 3. They start no service of their own.
//
// Config.Flavour asks for one of the two. What is of the other flavour is then passed over: the server of the variable,
// the image (mariadb:10.11 is used for MariaDB), and the programs, which are asked what they are, since Debian's mysqld
// is MariaDB. Debian's stable suites have no MySQL, so 4. is for MariaDB alone, and for MySQL there is one way more:
//
//  5. as root on Debian: debootstrap downloads mysql-server-core of Debian sid (MySQL 9.7) and its libraries into the
//     cache folder (see package cachedir), once for each machine; they are unpacked there, not installed, and the server
//     runs on the dynamic loader of that folder.
//
// When none works, the error lists why each did not and what to do.
//
// The tests (package mysqltest) throw their server away. The local stack (tools/stack) calls Start again on the same
// Config to find its server running, or to start it again with the data it had.
package mysqlserver
