package platform

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Platform is a stack with clients of its components.
type Platform struct {
	Root  string // the checkout
	Local string // state directory of the stack
	Out   io.Writer

	Env    map[string]string // variables of the env file that make up writes
	Client client.Client     // uncached
	JS     jetstream.JetStream
	DB     *sql.DB

	nc *nats.Conn
}

// Make runs a target of the Makefile for this stack; args are further arguments, such as variables.
func (p *Platform) Make(ctx context.Context, target string, args ...string) error {
	cmd := exec.CommandContext(ctx, "make", append([]string{target}, args...)...)
	// Let make stop the stack in order instead of killing it. It forwards SIGTERM to
	// its commands, but not SIGINT.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Dir = p.Root
	cmd.Env = append(os.Environ(), "FLOTILLA_LOCAL="+p.Local, "MAKEFLAGS=", "MAKELEVEL=")
	cmd.Stdout, cmd.Stderr = p.Out, p.Out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("make %s: %w", target, err)
	}
	return nil
}

// Stack runs a subcommand of the stack program, for example Stack(ctx, "restart", "ingester").
func (p *Platform) Stack(ctx context.Context, args ...string) error {
	return p.Make(ctx, "stack", "ARGS="+strings.Join(args, " "))
}

// Up runs make up and connects.
func (p *Platform) Up(ctx context.Context) error {
	if err := p.Make(ctx, "up"); err != nil {
		return err
	}
	return p.Connect(ctx)
}

// Connect reads the env file of the stack, and connects to the API server, NATS and MySQL.
func (p *Platform) Connect(ctx context.Context) error {
	env, err := readEnv(ctx, filepath.Join(p.Local, "env"))
	if err != nil {
		return err
	}
	p.Env = env
	config, err := clientcmd.BuildConfigFromFlags("", env["KUBECONFIG"])
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	if p.Client, err = client.New(config, client.Options{}); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	if p.nc, err = nats.Connect(env["NATS_URL"], nats.MaxReconnects(-1), nats.ReconnectWait(200*time.Millisecond)); err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	if p.JS, err = jetstream.New(p.nc); err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	dsn, err := mysqldriver.ParseDSN(env["MYSQL_DSN"])
	if err != nil {
		return fmt.Errorf("read MYSQL_DSN: %w", err)
	}
	connector, err := mysqldriver.NewConnector(dsn)
	if err != nil {
		return fmt.Errorf("connect to MySQL: %w", err)
	}
	p.DB = sql.OpenDB(connector)
	return nil
}

// Close closes the connections. The stack keeps running.
func (p *Platform) Close() error {
	if p.nc != nil {
		p.nc.Close()
	}
	if p.DB == nil {
		return nil
	}
	return p.DB.Close()
}

// Down stops the stack, and returns an error that lists the processes that are left.
func (p *Platform) Down(ctx context.Context) error {
	err := p.Make(ctx, "down")
	left, listErr := p.processes()
	if len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("processes left behind:\n%s", strings.Join(left, "\n")))
	}
	return errors.Join(err, listErr)
}

// Logs returns the last part of each log by file name.
func (p *Platform) Logs() (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(p.Local, "log", "*.log"))
	if err != nil {
		return nil, err
	}
	const tail = 8000
	out := map[string]string{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out[filepath.Base(path)] = string(raw[max(0, len(raw)-tail):])
	}
	return out, nil
}

// processes returns the command lines of running processes that contain the state directory.
func (p *Platform) processes() ([]string, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // the process has exited
		}
		line := strings.ReplaceAll(string(raw), "\x00", " ")
		if strings.Contains(line, p.Local+string(filepath.Separator)) {
			found = append(found, line)
		}
	}
	return found, nil
}

// readEnv sources a shell file and returns the variables that are set afterwards.
func readEnv(ctx context.Context, path string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, "bash", "-c", `set -ae; . "$1"; env -0`, "bash", path).Output()
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", path, err)
	}
	env := map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}
	for _, name := range []string{"KUBECONFIG", "NATS_URL", "MYSQL_DSN"} {
		if env[name] == "" {
			return nil, fmt.Errorf("%s does not set %s", path, name)
		}
	}
	return env, nil
}
