package mysqltest

import "github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"

// Vendor is the kind of a database server, MySQL or MariaDB.
type Vendor = mysqlserver.Vendor

const (
	// MySQL is MySQL 8.4 or later.
	MySQL = mysqlserver.MySQL
	// MariaDB is MariaDB 10.11 or later.
	MariaDB = mysqlserver.MariaDB
)

// Vendors returns the kinds of server that Flotilla supports.
func Vendors() []Vendor { return []Vendor{MySQL, MariaDB} }
