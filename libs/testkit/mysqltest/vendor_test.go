package mysqltest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"
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

func TestProgramsReadBinaryLog(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			t.Parallel()
			server := mysqltest.PrivateWithBinaryLog(t, vendor)
			exec(t, open(t, server.DSN()), "CREATE TABLE boat (id INT PRIMARY KEY)")
			for program, args := range map[mysqlserver.Program][]string{
				mysqlserver.Shell:     {"--execute=SELECT table_name FROM information_schema.tables"},
				mysqlserver.Dump:      {"--all-databases"},
				mysqlserver.BinaryLog: {"--read-from-remote-server", "binlog.000001"},
			} {
				cmd := server.Program(program, args...)
				var failure strings.Builder
				cmd.Stderr = &failure
				if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "boat") {
					t.Errorf("%s: %v: %s\n%s", cmd, err, &failure, out)
				}
			}
		})
	}
}
