package scripts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Names and texts that a shell, a pattern or SQL would interpret.
const (
	maliciousName  = "-it's `a` \"b\" $HOME $(id) %s;x=1\\n ü*?[a]"
	maliciousTable = "t'a `b` \"c\" $d.e*_%[x]|ü"
	maliciousValue = "it's \"$HOME\" `id` \\. \\n %s ü 漢字"
)

func TestCloneCopiesTablesAndReplacesTarget(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		source, target := r.databases(t)
		r.query(t, source, `CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(100));
			CREATE TABLE child (id INT PRIMARY KEY, parent_id INT, FOREIGN KEY (parent_id) REFERENCES parent (id));
			INSERT INTO parent VALUES (1, 'one'), (2, NULL); INSERT INTO child VALUES (10, 1)`)
		for range 2 { // the second run replaces the result of the first one
			succeeds(t, r.clone)
			got := r.query(t, target, "SELECT id, name FROM parent ORDER BY id") + "/" + r.query(t, target, "SELECT * FROM child")
			if diff := cmp.Diff("1|one\n2|/10|1", got); diff != "" {
				t.Errorf("rows differ (-want +got):\n%s", diff)
			}
			if n := r.query(t, target, "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'old' AND '"+
				target+"' IN (table_schema, table_catalog)"); n != "0" {
				t.Error("the target was not replaced")
			}
			r.query(t, target, "CREATE TABLE old (id INT); DROP TABLE child")
		}
	})
}

func TestW5CloneAcceptsHostileNamesPasswordsAndValues(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		source, target := uniqueName(maliciousName), uniqueName(maliciousName)
		password := "p'a\"s$s`w`o\\rd %s;" + uniqueName("")
		user := r.user(t, "us'er-"+uniqueName("")[:6], password)
		r.create(t, source)
		r.drop(t, target)
		if r.path() != "" {
			r.query(t, "", "ALTER DATABASE "+r.identifier(source)+" OWNER TO "+r.identifier(user))
		}
		r.query(t, source, "CREATE TABLE "+r.identifier(maliciousTable)+" (v VARCHAR(200))")
		if r.path() != "" {
			r.query(t, source, "GRANT SELECT ON "+r.identifier(maliciousTable)+" TO "+r.identifier(user))
		}
		r.query(t, source, "INSERT INTO "+r.identifier(maliciousTable)+" VALUES ("+r.literal(maliciousValue)+")")
		for _, side := range []string{"CLONE_SRC", "DB"} {
			r.env[side+"_USER"], r.env[side+"_PASS"] = user, password
		}
		r.setDatabases(source, target)
		succeeds(t, r.clone)
		if got := r.query(t, target, "SELECT v FROM "+r.identifier(maliciousTable)); got != maliciousValue {
			t.Errorf("want %q, got %q", maliciousValue, got)
		}
	})
}

func TestCloneExcludesNamedTablesOnly(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		source, target := r.databases(t)
		names := []string{"keep", "logs", "logs2", "log_s", "gone", "gone1", maliciousTable, "g*"}
		for _, name := range names {
			r.query(t, source, "CREATE TABLE "+r.identifier(name)+" (id INT); INSERT INTO "+r.identifier(name)+" VALUES (1)")
		}
		r.list("CLONE_EXCLUDE_TABLE", "gone", "g*")
		r.list("CLONE_EXCLUDE_TABLE_DATA", "log_", "logs", maliciousTable, "gone")
		if r.path() == "" {
			delete(r.env, "CLONE_EXCLUDE_TABLE_DATA_0")
			r.list("CLONE_EXCLUDE_TABLE_DATA", "logs", maliciousTable, "gone")
			delete(r.env, "CLONE_EXCLUDE_TABLE_DATA_3")
		}
		succeeds(t, r.clone)
		want := map[string]string{"keep": "1", "logs": "0", "logs2": "1", "log_s": "1", "gone1": "1", maliciousTable: "0"}
		got := map[string]string{}
		for name := range strings.SplitSeq(r.query(t, target, `SELECT table_name FROM information_schema.tables
			WHERE table_type = 'BASE TABLE' AND table_schema IN ('public', '`+target+`')`), "\n") {
			got[name] = r.query(t, target, "SELECT COUNT(*) FROM "+r.identifier(name))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rows of tables differ (-want +got):\n%s", diff)
		}
	})
}

// TestCloneOmitsForeignKeysToExcludedTables is the example of the documentation:
// Superset's table_schema refers to tab_state, and tab_state to query.
func TestCloneOmitsForeignKeysToExcludedTables(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		source, target := r.databases(t)
		r.query(t, source, `CREATE TABLE query (id INT PRIMARY KEY);
			CREATE TABLE tab_state (id INT PRIMARY KEY);
			CREATE TABLE table_schema (id INT PRIMARY KEY, tab_state_id INT, query_id INT,
				CONSTRAINT to_tab FOREIGN KEY (tab_state_id) REFERENCES tab_state (id) ON DELETE CASCADE,
				CONSTRAINT to_query FOREIGN KEY (query_id) REFERENCES query (id));
			INSERT INTO query VALUES (1); INSERT INTO tab_state VALUES (2); INSERT INTO table_schema VALUES (3, 2, 1)`)
		r.list("CLONE_EXCLUDE_TABLE", "tab_state")
		r.list("CLONE_EXCLUDE_TABLE_DATA", "query")
		succeeds(t, r.clone)
		if got := r.query(t, target, "SELECT * FROM table_schema"); got != "3|2|1" {
			t.Errorf("got %q", got)
		}
		if r.path() == "" {
			return // MySQL keeps a key to a missing table
		}
		got := r.query(t, target, "SELECT conname, convalidated FROM pg_constraint WHERE contype = 'f'")
		if got != "to_query|f" {
			t.Errorf("foreign keys: %q", got)
		}
		r.list("CLONE_EXCLUDE_TABLE", "public.tab_state")
		succeeds(t, r.clone)
		if got := r.query(t, target, "SELECT to_regclass('tab_state') IS NULL"); got != "t" {
			t.Error("a name with its schema excludes nothing")
		}
	})
}

func TestW5PostCloneSQLRunsUnchanged(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		source, target := r.databases(t)
		r.query(t, source, "CREATE TABLE note (id INT PRIMARY KEY, v VARCHAR(200))")
		block := "DO $$\nBEGIN\n  INSERT INTO note VALUES (3, 'line\nbreak');\nEND\n$$;"
		if r.path() == "" {
			block = "DELIMITER $$\nCREATE PROCEDURE fill()\nBEGIN\n  INSERT INTO note VALUES (3, 'line\nbreak');\nEND$$\nDELIMITER ;\nCALL fill();"
		}
		marker := t.TempDir() + "/mark"
		r.list("CLONE_POST_SQL",
			"INSERT INTO note VALUES (1, "+r.literal(maliciousValue)+")",
			"INSERT INTO note\n  VALUES (2, 'b');\nUPDATE note SET v = CONCAT(v, '!') WHERE id = 2;\n",
			block)
		succeeds(t, r.clone)
		want := "1|" + maliciousValue + "\n2|b!\n3|line\nbreak"
		if diff := cmp.Diff(want, r.query(t, target, "SELECT id, v FROM note ORDER BY id")); diff != "" {
			t.Errorf("rows differ (-want +got):\n%s", diff)
		}
		for _, command := range []string{`\! touch ` + marker, `system touch ` + marker, "SELECT 1;\n\\! touch " + marker} {
			r.list("CLONE_POST_SQL", command, command, command)
			fails(t, r.clone, "postCloneSQL[0] failed")
		}
		if exists(marker) {
			t.Error("SQL reached a shell")
		}
	})
}

func TestCloneReplacesTargetInUse(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		source, target := r.databases(t)
		r.query(t, source, "CREATE TABLE a (id INT)")
		r.hold(t, target, "old")
		succeeds(t, r.clone)
		r.query(t, target, "SELECT * FROM a")
	})
}

// TestCloneDetectsLongNameOfSource uses a long name, which PostgreSQL truncates.
func TestCloneDetectsLongNameOfSource(t *testing.T) {
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, servers(t)["PostgreSQL"], shell)
			long := uniqueName(strings.Repeat("n", 63-len(uniqueName(""))))
			r.create(t, long)
			r.query(t, long, "CREATE TABLE a (id INT)")
			r.setDatabases(long+"-staging", long)
			fails(t, r.clone, "the same database")
			r.setDatabases(long, long+"-staging")
			fails(t, r.clone, "the same database")
			r.query(t, long, "SELECT * FROM a")
		})
	}
}

// TestCloneDetectsNameInOtherCase simulates a server on Windows or macOS, which ignores the case of names: a stub of
// the client replaces the variable lower_case_table_names.
func TestCloneDetectsNameInOtherCase(t *testing.T) {
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, servers(t)["MySQL"], shell)
			source, _ := r.databases(t)
			r.query(t, source, "CREATE TABLE a (id INT)")
			r.setDatabases(source, strings.ToUpper(source))
			for _, program := range []string{"mariadb", "mysql"} {
				r.installStub(t, program, `for word; do shift; set -- "$@" "$(printf %s "$word" | sed s/@@lower_case_table_names/1/g)"; done
exec REAL "$@"`)
			}
			fails(t, r.clone, "the same database")
			r.query(t, source, "SELECT * FROM a")
		})
	}
}

// TestCloneRejectsReplicaOfTarget uses a real streaming replica, and a promoted one, which is an independent server.
func TestCloneRejectsReplicaOfTarget(t *testing.T) {
	server := servers(t)["PostgreSQL"]
	standby := replicate(t, server)
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, server, shell)
			source, _ := r.databases(t)
			r.query(t, source, "CREATE TABLE a (id INT)")
			r.setDatabases(source, source)
			r.env["CLONE_SRC_PORT"] = standby.port
			standby.await(t, source, "SELECT COUNT(*) FROM a")
			fails(t, r.clone, "a replica of the target's server")
			r.query(t, source, "SELECT * FROM a")
			r.setDatabases(source, uniqueName("other"))
			r.drop(t, r.env["DB_NAME"])
			succeeds(t, r.clone)
		})
	}
	for _, side := range []string{"CLONE_SRC", "DB"} {
		t.Run("of a restricted user/"+side, func(t *testing.T) {
			r := newRunner(t, server, shells["dash"])
			source := r.restrict(t, side)
			r.setDatabases(source, source)
			r.env["CLONE_SRC_PORT"] = standby.port
			r.query(t, source, "CREATE TABLE last (id INT)") // written after the restriction
			standby.await(t, source, "SELECT * FROM last")
			fails(t, r.clone, "cannot be detected")
			r.query(t, source, "SELECT * FROM a")
		})
	}
	t.Run("promoted", func(t *testing.T) {
		r := newRunner(t, server, shells["dash"])
		source, _ := r.databases(t)
		standby.await(t, source, "SELECT 1")
		standby.promote(t)
		standby.query(t, source, "CREATE TABLE b (id INT)")
		r.setDatabases(source, source)
		r.env["CLONE_SRC_PORT"] = standby.port
		succeeds(t, r.clone)
		r.query(t, source, "SELECT * FROM b")
	})
}

func TestCloneRejectsOwnSourceAsTarget(t *testing.T) {
	forEachServer(t, func(t *testing.T, r runner) {
		t.Helper()
		source, _ := r.databases(t)
		r.query(t, source, "CREATE TABLE a (id INT)")
		r.setDatabases(source, source)
		r.env["CLONE_SRC_HOST"] = "localhost" // another name of the same server
		fails(t, r.clone, "the same database")
		r.query(t, source, "SELECT * FROM a")
	})
}
