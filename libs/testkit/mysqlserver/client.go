package mysqlserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/flotilla-dev/flotilla/libs/testkit/debian"
)

// errNoClient is returned if the server does not run in a container and PATH has no client.
var errNoClient = errors.New("no MySQL client on PATH: install mariadb-client or mysql-client")

// Client returns the command that opens a database of the server: the client in the server's container, else the one on
// PATH. args follow the connection arguments. terminal reports whether the streams, which the caller sets, are a terminal.
func (s *Server) Client(ctx context.Context, database string, terminal bool, args ...string) (*exec.Cmd, error) {
	command := []string{"--user=" + s.login.User, "--database=" + database}
	program := ""
	if s.Container != "" {
		program = "docker"
		execArgs := []string{"exec", "--interactive", "--env", "MYSQL_PWD"}
		if terminal {
			execArgs = append(execArgs, "--tty")
		}
		command = append(append(execArgs, s.Container, "mysql"), command...)
	} else {
		if program = firstOnPath("mariadb", "mysql"); program == "" {
			return nil, errNoClient
		}
		command = append(command, s.address()...)
	}
	cmd := exec.CommandContext(ctx, program, append(command, args...)...)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+s.login.Passwd) // unlike an argument, not visible to other users
	return cmd, nil
}

// Program is a client program.
type Program string

// Client programs, by their names in MySQL. Connected to a server of the other vendor, they fail.
const (
	Shell     Program = "mysql"
	Dump      Program = "mysqldump"
	BinaryLog Program = "mysqlbinlog"
)

// mariaDBPrograms are the names in MariaDB. Debian's mariadb-client has all of them.
var mariaDBPrograms = map[Program]string{Shell: "mariadb", Dump: "mariadb-dump", BinaryLog: "mariadb-binlog"}

// Program returns the command of a client program of the server's vendor. args follow the connection arguments. As root
// on Debian, a missing program is installed, or unpacked into the cache directory; logf receives a message about it.
func (s *Server) Program(ctx context.Context, logf func(format string, args ...any), program Program, args ...string) (*exec.Cmd, error) {
	vendor, err := s.Vendor(ctx)
	if err != nil {
		return nil, err
	}
	e, err := clientProgram(ctx, Config{Vendor: vendor, Logf: logf}, program)
	if err != nil {
		return nil, fmt.Errorf("find the client program %s of %s: %w", program, vendor.displayName(), err)
	}
	connection := append([]string{"--user=" + s.login.User}, s.address()...)
	cmd := exec.CommandContext(ctx, e.command(), e.arguments("--no-defaults", slices.Concat(connection, args)...)...)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+s.login.Passwd)
	return cmd, nil
}

func clientProgram(ctx context.Context, cfg Config, program Program) (executable, error) {
	if cfg.Vendor == MariaDB {
		name := mariaDBPrograms[program]
		if firstOnPath(name) == "" {
			if err := debian.Install(ctx, cfg.Logf, nil, "mariadb-client"); err != nil {
				return executable{}, err
			}
		}
		return executable{path: name, vendor: MariaDB}, nil
	}
	// On Debian, the program of this name may be MariaDB's.
	version, err := run(ctx, initTimeout, string(program), "--version")
	if err == nil && vendorOf(version) == MySQL {
		return executable{path: string(program), vendor: MySQL}, nil
	}
	return unpackedProgram(ctx, cfg, filepath.Join("usr", "bin", string(program)))
}

// address returns the client arguments with the address of the server.
func (s *Server) address() []string {
	if s.login.Net == "unix" {
		return []string{"--protocol=socket", "--socket=" + s.login.Addr}
	}
	host, port, err := net.SplitHostPort(s.login.Addr)
	if err != nil {
		return []string{"--protocol=tcp", "--host=" + s.login.Addr}
	}
	return []string{"--protocol=tcp", "--host=" + host, "--port=" + port}
}

func firstOnPath(programs ...string) string {
	for _, name := range programs {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}
