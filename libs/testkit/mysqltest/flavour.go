package mysqltest

import "github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"

// Flavour is one of the two kinds of server.
type Flavour = mysqlserver.Flavour

const (
	// MySQL is MySQL 8.4 or later.
	MySQL = mysqlserver.MySQL
	// MariaDB is MariaDB 10.11 or later.
	MariaDB = mysqlserver.MariaDB
)

// Flavours returns the kinds of server that Flotilla supports.
func Flavours() []Flavour { return []Flavour{MySQL, MariaDB} }
