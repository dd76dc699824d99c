package mysqlserver

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Vendor is the kind of a database server, MySQL or MariaDB. They differ in more than the name: locks, JSON, times, limits.
type Vendor string

const (
	// AnyVendor selects whichever server is available.
	AnyVendor Vendor = ""
	// MySQL is MySQL 8.4 or later.
	MySQL Vendor = "mysql"
	// MariaDB is MariaDB 10.11 or later.
	MariaDB Vendor = "mariadb"
)

func (v Vendor) displayName() string {
	switch v {
	case MySQL:
		return "MySQL"
	case MariaDB:
		return "MariaDB"
	default:
		return "MySQL or MariaDB"
	}
}

// packages describes the packages that users can install, for error messages.
func (v Vendor) packages() string {
	switch v {
	case MySQL:
		return "mysql-server (8.4 or later)"
	case MariaDB:
		return "mariadb-server (10.11 or later)"
	default:
		return "mysql-server or mariadb-server (10.11 or later)"
	}
}

// vendorOf parses the output of VERSION() or --version.
func vendorOf(version string) Vendor {
	if strings.Contains(version, "MariaDB") {
		return MariaDB
	}
	return MySQL
}

// sbin lists directories that contain servers but are often not on the PATH of a user.
var sbin = []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin"}

// executable is the program of a server and the arguments to run it with.
type executable struct {
	path   string
	vendor Vendor
	// before is the command that runs it: the dynamic loader of an unpacked tree, with arguments.
	before []string
	// with are arguments that every start needs.
	with []string
}

func (e executable) command() string { return append(slices.Clone(e.before), e.path)[0] }

// arguments returns the command line with first at its start: both servers require --no-defaults before other arguments.
func (e executable) arguments(first string, rest ...string) []string {
	all := append(slices.Clone(e.before), e.path, first)
	return slices.Concat(all[1:], e.with, rest)
}

// programs returns the servers of a vendor on PATH and in the usual directories, preferred ones first. On Debian, mysqld
// may be either vendor.
func programs(ctx context.Context, v Vendor) []executable {
	var all []executable
	for _, path := range findAll("mysqld", "mariadbd") {
		version, err := run(ctx, initTimeout, path, "--no-defaults", "--version")
		if err != nil {
			continue // not a program that this machine can run
		}
		if actual := vendorOf(version); v == AnyVendor || v == actual {
			all = append(all, executable{path: path, vendor: actual})
		}
	}
	return all
}

func find(names ...string) string {
	if all := findAll(names...); len(all) > 0 {
		return all[0]
	}
	return ""
}

func findAll(names ...string) []string {
	var all []string
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			all = append(all, path)
		}
		for _, dir := range sbin {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				all = append(all, path)
			}
		}
	}
	return all
}
