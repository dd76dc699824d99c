package mysqlserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

func TestChooseReturnsFirstAvailable(t *testing.T) {
	skip := func(reason string) func(context.Context, Config) (*Server, error) {
		return func(context.Context, Config) (*Server, error) { return nil, unavailable{reason} }
	}
	found := func(context.Context, Config) (*Server, error) { return &Server{Source: "found"}, nil }
	broken := func(context.Context, Config) (*Server, error) { return nil, errors.New("broken") }

	s, err := choose(t.Context(), Config{}, skip("one"), found, broken)
	if err != nil || s.Source != "found" {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err = choose(t.Context(), Config{}, skip("one"), broken, found); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("the error of a failing source was ignored: %v", err)
	}
	_, err = choose(t.Context(), Config{}, skip("no docker"), skip(""), skip("no mysqld"))
	if !errors.Is(err, ErrNone) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"- no docker\n- no mysqld", EnvDSN, "install"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %q", want, err)
		}
	}
}

func TestExistingUsesDSNWithoutStop(t *testing.T) {
	t.Setenv(EnvDSN, "me:pw@tcp(db.example.org:3307)/ignored?timeout=5s")
	s, err := Existing(t.Context(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if !s.External() || s.Stop(t.Context()) == nil || s.Remove(t.Context()) != nil {
		t.Error("a foreign server can be stopped")
	}
	got, err := mysql.ParseDSN(s.DSN("boats"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"user": "me", "address": "db.example.org:3307", "database": "boats", "timeout": 5 * time.Second,
		"parseTime": true, "packet": 0, "collation": "utf8mb4_bin", "zone": "'+00:00'",
	}
	has := map[string]any{
		"user": got.User, "address": got.Addr, "database": got.DBName, "timeout": got.Timeout,
		"parseTime": got.ParseTime, "packet": got.MaxAllowedPacket, "collation": got.Collation, "zone": got.Params["time_zone"],
	}
	if diff := cmp.Diff(want, has); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(s.DSN("boats"), "timeTruncate=1us") {
		t.Errorf("times are not truncated in %s", s.DSN("boats"))
	}
}

func TestExistingErrorNamesDSNVariable(t *testing.T) {
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	for name, dsn := range map[string]string{
		"no listener": "me:pw@tcp(" + freeport.Address(port) + ")/",
		"not a DSN":   "mysql://me@host",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(EnvDSN, dsn)
			_, err := Start(t.Context(), Config{Dir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), EnvDSN) || strings.Contains(err.Error(), "pw@") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestExistingStartsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mysql")
	if _, err := Existing(t.Context(), Config{Name: "flotilla-no-such-container", Dir: dir}); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory was created: %v", err)
	}
}

func TestExistingFindsPrivateServerByDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mysql")
	marker := watchdog.Marker("MYSQLSERVER_TEST", dir)
	guard, err := watchdog.Start(watchdog.Cleanup{Marker: marker, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := guard.Release(); err != nil {
			t.Error(err)
		}
	})
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Name: filepath.Base(dir), Dir: dir, Port: port, Marker: marker, Log: filepath.Join(dir, "log", "mysql.log"), Logf: t.Logf,
	}
	first, err := choose(t.Context(), cfg, localServer, installed)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := first.RunningPID()

	second, err := Existing(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second.RunningPID() != pid || pid == 0 {
		t.Errorf("process %d instead of %d", second.RunningPID(), pid)
	}
	if err := second.CreateDatabase(t.Context(), "a`b"); err != nil {
		t.Error(err)
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first.RunningPID() != 0 || first.Ping(t.Context()) == nil {
		t.Error("the server still runs")
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Errorf("stop a stopped server: %v", err)
	}
	if err := second.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data is left: %v", err)
	}
}

func TestSocketPathIsShortForLongDirectory(t *testing.T) {
	short := program{cfg: Config{Dir: "/tmp/a"}}
	long := program{cfg: Config{Dir: "/tmp/" + strings.Repeat("x", 200)}}
	if got := short.socket(); got != "/tmp/a/mysqld.sock" {
		t.Errorf("got %s", got)
	}
	if got := long.socket(); len(got) > 107 {
		t.Errorf("%d characters: %s", len(got), got)
	}
}
