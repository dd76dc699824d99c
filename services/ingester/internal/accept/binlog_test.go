package accept_test

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
)

// logged is an installation whose database has a binary log. The tests run the commands of docs/disaster.md.
type logged struct {
	*disaster
	server   *mysqltest.Server
	vendor   mysqltest.Vendor
	database string
	dump     []byte
}

// position is a position in the binary log.
type position struct{ file, offset string }

func newLogged(t *testing.T, vendor mysqltest.Vendor) *logged {
	t.Helper()
	server := mysqltest.PrivateWithBinaryLog(t, vendor)
	dsn := server.DSN()
	parsed, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	d := &disaster{Env: commandtest.NewIn(t, cluster.Get(t), dsn)}
	d.SweepInterval = 300 * time.Millisecond
	return &logged{disaster: d, server: server, vendor: vendor, database: parsed.DBName}
}

// run runs a client program and returns its output.
func (l *logged) run(input []byte, program mysqlserver.Program, args ...string) []byte {
	l.Helper()
	cmd := l.server.Program(program, args...)
	cmd.Stdin = bytes.NewReader(input)
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		l.Fatalf("%s: %v: %s", cmd, err, &failure)
	}
	return out.Bytes()
}

// backUp dumps the database, with the position in the binary log as a comment.
func (l *logged) backUp() {
	l.Helper()
	options := []string{"--single-transaction", "--source-data=2", "--set-gtid-purged=OFF"}
	if l.vendor == mysqltest.MariaDB {
		options = []string{"--single-transaction", "--master-data=2"}
	}
	l.dump = l.run(nil, mysqlserver.Dump, append(options, l.database)...)
}

// now returns the current position.
func (l *logged) now() position {
	l.Helper()
	statement := "SHOW BINARY LOG STATUS"
	if l.vendor == mysqltest.MariaDB {
		statement = "SHOW MASTER STATUS"
	}
	fields := bytes.Fields(l.run(nil, mysqlserver.Shell, "--skip-column-names", "--execute="+statement))
	return position{string(fields[0]), string(fields[1])}
}

var dumped = regexp.MustCompile(`(?:SOURCE|MASTER)_LOG_FILE='([^']+)', (?:SOURCE|MASTER)_LOG_POS=(\d+)`)

// restoreUpTo restores the backup and replays the binary log up to a position.
func (l *logged) restoreUpTo(end position) {
	l.Helper()
	at := dumped.FindSubmatch(l.dump)
	if at == nil {
		l.Fatal("the backup has no position")
	}
	begin := position{string(at[1]), string(at[2])}
	l.run(l.dump, mysqlserver.Shell, l.database)
	args := []string{"--read-from-remote-server"}
	if l.vendor == mysqltest.MySQL {
		args = append(args, "--skip-gtids") // the server has executed these transactions
	}
	args = append(args, "--database="+l.database, "--start-position="+begin.offset, "--stop-position="+end.offset, begin.file)
	if end.file != begin.file {
		args = append(args, end.file)
	}
	l.run(l.run(nil, mysqlserver.BinaryLog, args...), mysqlserver.Shell, l.database)
}

// content returns all rows of the database.
func (l *logged) content() []byte {
	l.Helper()
	options := []string{"--no-create-info", "--order-by-primary", "--skip-comments", "--skip-extended-insert"}
	if l.vendor == mysqltest.MySQL {
		options = append(options, "--set-gtid-purged=OFF") // would include the number of transactions
	}
	return l.run(nil, mysqlserver.Dump, append(options, l.database)...)
}

// TestReplayOfBinaryLog loses a table, restores an older backup, and replays the binary log: up to the failure, it
// has all evictions; up to an earlier moment, the database is older.
func TestReplayOfBinaryLog(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			l := newLogged(t, vendor)
			l.start()
			first := l.Create(l.Model("first"))
			evicted, kept, deleted := l.Create(l.Model("evicted")), l.Create(l.Model("kept")), l.Create(l.Model("deleted"))
			l.eventually("first live, evicted live, kept live, deleted live")
			l.Patch(first, immutable)
			expect.Deleted(t, l.Client, first)
			l.backUp()
			l.Exec("FLUSH BINARY LOGS") // the backup and the failure are in different files
			l.Patch(evicted, immutable)
			l.Delete(deleted)
			expect.Deleted(t, l.Client, evicted)
			expect.Deleted(t, l.Client, deleted)
			before := l.now()
			late := l.Create(l.Model("late")) // is in no backup
			l.eventually("first evicted, evicted evicted, kept live, deleted closed, late live")
			l.Patch(late, immutable)
			expect.Deleted(t, l.Client, late)
			l.stop()
			want, failure := l.content(), l.now()
			l.drop("model")

			l.restoreUpTo(before)
			l.isOlder()
			l.eventually("first evicted, evicted evicted, kept live, deleted closed")

			l.restoreUpTo(failure)
			if got := l.content(); !bytes.Equal(got, want) {
				t.Errorf("the rows differ: %s\nwant: %s", got, want)
			}
			if out, err := l.checkpoint(false); err != nil {
				t.Errorf("%s%v", out, err)
			}
			l.start()
			l.Patch(kept, immutable)
			expect.Deleted(t, l.Client, kept)
			l.eventually("first evicted, evicted evicted, kept evicted, deleted closed, late evicted")
			l.agrees()
		})
	}
}
