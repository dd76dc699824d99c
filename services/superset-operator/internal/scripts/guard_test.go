package scripts_test

import "testing"

// TestCloneRejectsOwnSourceOfRestrictedUser restricts one of the two users, to whom the same server then looks different.
func TestCloneRejectsOwnSourceOfRestrictedUser(t *testing.T) {
	for kind, s := range servers(t) {
		for name, shell := range shells {
			for _, side := range []string{"CLONE_SRC", "DB"} {
				t.Run(kind+"/"+name+"/"+side, func(t *testing.T) {
					r := newRunner(t, s, shell)
					source := r.restrict(t, side)
					r.setDatabases(source, source)
					fails(t, r.clone, "the same database")
					if got := r.query(t, source, "SELECT id FROM a"); got != "1" {
						t.Errorf("the source was changed: %q", got)
					}
				})
			}
		}
	}
}

// restrict creates a source with a row, and makes one side use a restricted user of it: PostgreSQL does not let the user
// read the identity of the server, and MySQL answers in another encoding.
func (r runner) restrict(t *testing.T, side string) (source string) {
	t.Helper()
	const password = "restricted-password"
	user := r.user(t, uniqueName("user"), password)
	source = uniqueName("source")
	r.create(t, source)
	r.query(t, source, "CREATE TABLE a (id INT); INSERT INTO a VALUES (1)")
	if r.path() == "" {
		r.query(t, "", "REVOKE ALL PRIVILEGES ON *.* FROM "+user+"; GRANT ALL ON "+source+".* TO "+user)
		r.atEnd(t, "SET GLOBAL init_connect = ''")
		r.query(t, "", "SET GLOBAL init_connect = 'SET character_set_results = utf16'")
	} else {
		r.query(t, source, "ALTER DATABASE "+source+" OWNER TO "+user+"; GRANT SELECT ON a TO "+user)
		// Each database has permissions of its own on functions; the target's server is connected to in "postgres".
		database := map[string]string{"CLONE_SRC": source, "DB": "postgres"}[side]
		r.atEnd(t, "GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
		r.query(t, database, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
	}
	r.env[side+"_USER"], r.env[side+"_PASS"] = user, password
	return source
}
