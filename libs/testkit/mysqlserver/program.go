package mysqlserver

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

const (
	initTimeout = 2 * time.Minute
	stopTimeout = 30 * time.Second
	// binaryLogArgument gives the files of MariaDB the name that those of MySQL have.
	binaryLogArgument = "--log-bin=binlog"
)

func localServer(ctx context.Context, cfg Config) (*Server, error) {
	ids := programs(ctx, cfg.Vendor)
	if len(ids) == 0 {
		return nil, unavailable{fmt.Sprintf("no %s program is on PATH or in %s", cfg.Vendor.displayName(), strings.Join(sbin, ", "))}
	}
	return programServer(cfg, ids[0])
}

func programServer(cfg Config, e executable) (*Server, error) {
	login, err := local(cfg, user)
	if err != nil {
		return nil, err
	}
	return &Server{
		Source:  "a private server of " + e.path,
		Log:     cfg.logFile(),
		login:   login,
		backend: &program{cfg: cfg, executable: e},
	}, nil
}

// existingServer reuses the private server that has its data in the directory.
func existingServer(ctx context.Context, cfg Config) (*Server, error) {
	if _, err := os.Stat((&program{cfg: cfg}).data()); err != nil {
		return nil, unavailable{}
	}
	return localServer(ctx, cfg)
}

// program is a private server in its own directory.
type program struct {
	cfg Config
	executable
}

func (p *program) data() string    { return filepath.Join(p.cfg.Dir, "data") }
func (p *program) pidFile() string { return filepath.Join(p.cfg.Dir, "mysqld.pid") }

func (p *program) start(ctx context.Context, s *Server) error {
	if pid := p.pid(); pid != 0 {
		return s.waitReady(ctx, exitReason(pid, s.Log))
	}
	if err := p.initialize(ctx); err != nil {
		return err
	}
	pid, err := p.launch(s)
	if err != nil {
		return err
	}
	return s.waitReady(ctx, exitReason(pid, s.Log))
}

// launch starts the server in a session of its own, so that it outlives `make up`.
func (p *program) launch(s *Server) (int, error) {
	init := filepath.Join(p.cfg.Dir, "init.sql")
	statements := fmt.Sprintf("CREATE USER IF NOT EXISTS '%s'@'%%' IDENTIFIED BY '%s';\n"+
		"GRANT ALL PRIVILEGES ON *.* TO '%s'@'%%' WITH GRANT OPTION;\n", user, password, user)
	if err := os.WriteFile(init, []byte(statements), 0o600); err != nil {
		return 0, fmt.Errorf("write the first statements: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.Log), 0o700); err != nil {
		return 0, fmt.Errorf("create the log directory: %w", err)
	}
	// A server removes all temporary tables in the directory when it starts, including those of other servers.
	tmp := filepath.Join(p.cfg.Dir, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return 0, fmt.Errorf("create the directory of temporary tables: %w", err)
	}
	args := append(p.arguments(
		"--no-defaults",
		"--datadir="+p.data(),
		"--tmpdir="+tmp,
		"--bind-address=127.0.0.1",
		"--port="+strconv.Itoa(p.cfg.Port),
		"--socket="+p.socket(),
		"--pid-file="+p.pidFile(),
		"--init-file="+init,
		"--skip-name-resolve",
		"--secure-file-priv="+p.cfg.Dir,
		"--loose-mysqlx=0", // MySQL's second port; loose, since MariaDB does not know the option
	), asUser()...)
	if p.cfg.BinaryLog && p.vendor == MariaDB {
		args = append(args, binaryLogArgument)
	}
	cmd := exec.Command(p.command(), args...) //nolint:noctx // outlives every context
	cmd.Dir = p.cfg.Dir
	cmd.Env = append(os.Environ(), p.cfg.Marker)
	child, err := proc.Start(cmd, s.Log)
	if err != nil {
		return 0, err
	}
	return child.PID, nil
}

func exitReason(pid int, log string) func() error {
	return func() error {
		if proc.Alive(pid) {
			return nil
		}
		return fmt.Errorf("server exited: %s", proc.Tail(log, 10))
	}
}

func (p *program) stop(ctx context.Context) error {
	pid := p.pid()
	if pid == 0 {
		return nil
	}
	return proc.Terminate(ctx, pid, stopTimeout)
}

// kill terminates the server like a crash: it flushes no data and removes no files.
func (p *program) kill(ctx context.Context) error {
	pid := p.pid()
	if pid == 0 {
		return errNotRunning
	}
	return proc.Kill(ctx, pid)
}

func (p *program) remove(ctx context.Context) error {
	if err := p.stop(ctx); err != nil {
		return err
	}
	return os.RemoveAll(p.cfg.Dir)
}

// pid returns the pid of the server of this directory, or 0 if it does not run. Another process may have reused the pid
// in the file, so the command line must name the directory.
func (p *program) pid() int {
	data, err := os.ReadFile(p.pidFile())
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || !proc.Alive(pid) {
		return 0
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(line), "--datadir="+p.data()) {
		return 0
	}
	return pid
}

// socket returns a path in the directory, or in the temporary directory if that path is too long for a socket.
func (p *program) socket() string {
	const maxPath = 100
	path := filepath.Join(p.cfg.Dir, "mysqld.sock")
	if len(path) <= maxPath {
		return path
	}
	sum := fnv.New64a()
	sum.Write([]byte(path))
	return filepath.Join(os.TempDir(), fmt.Sprintf("flotilla-mysql-%x.sock", sum.Sum64()))
}

// asUser returns the argument that permits the server to run as root, which it rejects by default.
func asUser() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}
