package scripts_test

import (
	"strings"
	"testing"
)

// TestCloneWithExtensionsThatTargetRejects copies an extension that each owner of a database may create, and one that only a
// superuser may. PostgreSQL only.
func TestCloneWithExtensionsThatTargetRejects(t *testing.T) {
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, servers(t)["PostgreSQL"], shell)
			user := r.user(t, uniqueName("user"), "restricted-password")
			source, target := r.databases(t)
			r.query(t, "", "ALTER DATABASE "+target+" OWNER TO "+user)
			r.env["DB_USER"], r.env["DB_PASS"] = user, "restricted-password"
			r.query(t, source, `CREATE EXTENSION citext; CREATE EXTENSION pg_buffercache;
				COMMENT ON EXTENSION pg_buffercache IS 'two
lines'; CREATE TABLE a (v citext); INSERT INTO a VALUES ('x')`)
			if out := succeeds(t, r.clone); !strings.Contains(out, "continuing without it: permission denied") {
				t.Errorf("the output does not name the extension:\n%s", out)
			}
			got := r.query(t, target, "SELECT extname FROM pg_extension ORDER BY 1; SELECT v FROM a WHERE v = 'X'")
			if got != "citext\nplpgsql\nx" {
				t.Errorf("got %q", got)
			}
			r.query(t, source, "CREATE VIEW dependent AS SELECT * FROM pg_buffercache")
			fails(t, r.clone, `"public.pg_buffercache" does not exist`, "the target lacks these extensions of the source: pg_buffercache")
		})
	}
}
