package components

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/platform"
)

// Client returns the command that opens the stack's database in a client of the server; terminal reports whether the
// streams, which the caller sets, are a terminal.
func (m *MySQL) Client(ctx context.Context, terminal bool, args ...string) (*exec.Cmd, error) {
	if m.env.State.RealNode {
		return m.clientInPod(ctx, terminal, args), nil
	}
	if _, known := m.env.State.Ports[mysqlPort]; !known {
		return nil, errMySQLDown
	}
	if err := m.find(ctx); err != nil {
		return nil, err
	}
	if err := m.ping(ctx); err != nil {
		return nil, fmt.Errorf("%w (%w)", errMySQLDown, err)
	}
	return m.server.Client(ctx, m.database(), terminal, args...)
}

// clientInPod returns the command for the server of a real node.
func (m *MySQL) clientInPod(ctx context.Context, terminal bool, args []string) *exec.Cmd {
	command := []string{"exec", "--kubeconfig", m.env.Kubeconfig(), "--namespace", platform.Data, "--stdin", "mysql-0"}
	if terminal {
		command = append(command, "--tty")
	}
	command = append(command, "--", "sh", "-c", `MYSQL_PWD=$MYSQL_PASSWORD exec mysql --host=127.0.0.1 --user="$MYSQL_USER" "$MYSQL_DATABASE" "$@"`, "mysql")
	return exec.CommandContext(ctx, m.env.Tools.Path("kubectl"), append(command, args...)...)
}
