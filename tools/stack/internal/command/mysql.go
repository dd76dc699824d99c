package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/platform"
)

// mysql opens the stack's database in a client of the server; args are the client's.
func (a *app) mysql(ctx context.Context, args []string) error {
	terminal := isTerminal(os.Stdin) && isTerminal(a.out)
	cmd := a.mysqlInPod(ctx, terminal, args)
	if !a.env.State.RealNode {
		var err error
		if cmd, err = components.NewMySQL(a.env).Client(ctx, terminal, args...); err != nil {
			return err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, a.out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run the MySQL client: %w", err)
	}
	return nil
}

// mysqlInPod returns the command for the server of a real node.
func (a *app) mysqlInPod(ctx context.Context, terminal bool, args []string) *exec.Cmd {
	command := []string{"exec", "--kubeconfig", a.env.Kubeconfig(), "--namespace", platform.Data, "--stdin", "mysql-0"}
	if terminal {
		command = append(command, "--tty")
	}
	command = append(command, "--", "sh", "-c", `MYSQL_PWD=$MYSQL_PASSWORD exec mysql --user="$MYSQL_USER" "$MYSQL_DATABASE" "$@"`, "mysql")
	return exec.CommandContext(ctx, a.env.Tools.Path("kubectl"), append(command, args...)...)
}
