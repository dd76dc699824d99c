package postgres_test

import (
	"fmt"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/postgres"
)

func ExampleShared() {
	test := func(t *testing.T) {
		server := postgres.Shared(t)
		name := server.Database(t) // a database of its own
		if got := server.Query(t, name, "SELECT 1 + 1"); got != "2" {
			t.Errorf("got %s", got)
		}
	}
	fmt.Printf("a test is a %T", test)
	// Output: a test is a func(*testing.T)
}
