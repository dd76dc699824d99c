package mysqltest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
)

func TestServerHasRequestedVendor(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			var version string
			row := open(t, mysqltest.DSNOf(t, vendor)).QueryRowContext(t.Context(), "SELECT VERSION()")
			if err := row.Scan(&version); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(version, "MariaDB") != (vendor == mysqltest.MariaDB) {
				t.Errorf("%s runs version %s", vendor, version)
			}
		})
	}
}

func TestKilledServerKeepsCommittedRows(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			t.Parallel()
			server := mysqltest.PrivateOf(t, vendor)
			db := open(t, server.DSN())
			exec(t, db, "CREATE TABLE boat (id INT PRIMARY KEY)")
			exec(t, db, "INSERT INTO boat VALUES (7)")
			server.Kill()
			if err := db.PingContext(t.Context()); err == nil {
				t.Error("a killed server answers")
			}
			server.Start()
			expect.Eventually(t, expect.Long, func() error {
				var id int
				if err := db.QueryRowContext(t.Context(), "SELECT id FROM boat").Scan(&id); err != nil {
					return err
				}
				if id != 7 {
					return fmt.Errorf("id %d instead of 7", id)
				}
				return nil
			})
		})
	}
}
