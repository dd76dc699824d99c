package mysqlserver

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
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
