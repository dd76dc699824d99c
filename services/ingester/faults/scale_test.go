//go:build !long

package faults

import "github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

// operations are the creates, updates and deletes of a load, and faults the number of injected faults.
const (
	operations = 300
	failures   = 2
)

func vendors() []mysqltest.Vendor { return []mysqltest.Vendor{mysqltest.MariaDB} }
