package mysqltest_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
)

func ExampleDSN() {
	test := func(t *testing.T) {
		db, err := sql.Open("mysql", mysqltest.DSN(t)) // a database of its own
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	fmt.Printf("a test is a %T", test)
	// Output: a test is a func(*testing.T)
}
