package mysqlserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestErrorWithoutServerNamesPackages(t *testing.T) {
	none := func(context.Context, Config) (*Server, error) { return nil, unavailable{"not here"} }
	for vendor, want := range map[Vendor]string{
		MySQL:     "install mysql-server (8.4 or later),",
		MariaDB:   "install mariadb-server (10.11 or later),",
		AnyVendor: "install mysql-server or mariadb-server (10.11 or later),",
	} {
		_, err := choose(t.Context(), Config{Vendor: vendor}, none)
		if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "- not here") {
			t.Errorf("%q: %v", vendor, err)
		}
	}
}

func TestImageFollowsVendor(t *testing.T) {
	for _, c := range []struct {
		variable string
		vendor   Vendor
		want     string
	}{
		{"", AnyVendor, defaultImage},
		{"", MySQL, defaultImage},
		{"", MariaDB, mariaDBImage},
		{"mysql:9.7", MySQL, "mysql:9.7"},
		{"mysql:9.7", MariaDB, mariaDBImage},
		{"mirror/mariadb:11.4", MySQL, defaultImage},
		{"mirror/mariadb:11.4", MariaDB, "mirror/mariadb:11.4"},
		{"mirror/mariadb:11.4", AnyVendor, "mirror/mariadb:11.4"},
	} {
		t.Setenv(EnvImage, c.variable)
		if got := imageOf(c.vendor); got != c.want {
			t.Errorf("%q, %q: got %s, want %s", c.variable, c.vendor, got, c.want)
		}
	}
}

// The output of --version decides the vendor, not the name of the program: Debian's mysqld is MariaDB.
func TestVendorFollowsVersionOutput(t *testing.T) {
	dir := t.TempDir()
	for name, line := range map[string]string{
		"mysqld":   "mysqld  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64",
		"mariadbd": "mariadbd  Ver 9.7.4-2 for Linux on x86_64 ((Debian))",
	} {
		script := "#!/bin/sh\necho '" + line + "'\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for vendor, want := range map[Vendor]string{MySQL: "mariadbd", MariaDB: "mysqld", AnyVendor: "mysqld"} {
		got := programs(t.Context(), vendor)
		if len(got) == 0 || got[0].path != filepath.Join(dir, want) {
			t.Errorf("%q: got %+v", vendor, got)
		}
	}
}

func TestKillRequiresRunningServer(t *testing.T) {
	p := &program{cfg: Config{Dir: t.TempDir()}}
	if err := p.kill(t.Context()); !errors.Is(err, errNotRunning) {
		t.Errorf("got %v", err)
	}
	if err := (external{}).kill(t.Context()); !errors.Is(err, errExternal) {
		t.Errorf("got %v", err)
	}
}

func TestInTreeNamesIncompleteDirectory(t *testing.T) {
	dir := t.TempDir()
	if _, err := inTree(dir, "usr/sbin/mysqld"); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	lib := filepath.Join(dir, "usr", "lib", "x86_64-linux-gnu")
	if err := os.MkdirAll(lib, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lib, "ld-linux-x86-64.so.2"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := inTree(dir, "usr/sbin/mysqld"); err == nil || !strings.Contains(err.Error(), "no usr/sbin/mysqld") {
		t.Errorf("got %v", err)
	}
}
