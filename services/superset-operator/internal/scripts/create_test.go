package scripts_test

import "testing"

func TestCreateDatabaseRunsOnce(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		for _, name := range []string{uniqueName("plain"), uniqueName(maliciousName), uniqueName("a=b host=nowhere")} {
			r.env["DB_NAME"] = name
			r.drop(t, name)
			succeeds(t, r.createDatabase)
			r.query(t, name, "CREATE TABLE kept (id INT)")
			succeeds(t, r.createDatabase)
			r.query(t, name, "SELECT * FROM kept")
		}
	})
}

func TestCreateDatabaseReportsFailure(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		r.env["DB_NAME"], r.env["DB_PASS"] = uniqueName("never"), "wrong password"
		fails(t, r.createDatabase)
	})
}
