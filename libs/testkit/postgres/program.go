package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

const (
	markerKey = "FLOTILLA_TEST_POSTGRES"
	admin     = "flotilla"
	password  = "flotilla" // of a throw-away server on loopback
	attempts  = 3          // with other ports
	// startTimeout covers an installation; answerTimeout the start of a server on a busy machine.
	startTimeout  = 20 * time.Minute
	answerTimeout = time.Minute
)

// start starts a server that the watchdog removes.
func start() (*Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	bin, err := folder(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	for range attempts {
		server, err := startOnce(ctx, bin)
		if err == nil {
			return server, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func startOnce(ctx context.Context, bin string) (*Server, error) {
	port, err := freeport.One()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent(), "flotilla-postgres-")
	if err != nil {
		return nil, fmt.Errorf("create the folder of the PostgreSQL server: %w", err)
	}
	marker := watchdog.Marker(markerKey, dir)
	guard, err := watchdog.Start(watchdog.Cleanup{Marker: marker, Dir: dir})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := program{bin: bin, dir: dir, port: port, marker: marker}
	s := &Server{Bin: bin, Host: "127.0.0.1", Port: port, User: admin, Password: password}
	if err := p.launch(ctx, s); err != nil {
		return nil, errors.Join(err, guard.Release())
	}
	return s, nil
}

// parent is a folder in memory where there is room, since each database is some
// 300 files; else the temporary folder.
func parent() string {
	const memory, enough = "/dev/shm", 1 << 30
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &fs) == nil && fs.Bavail*uint64(fs.Bsize) > enough { //nolint:gosec // a size is positive
		return memory
	}
	return ""
}

type program struct {
	bin, dir, marker string
	port             int
}

func (p program) launch(ctx context.Context, s *Server) error {
	identity, err := p.identity()
	if err != nil {
		return err
	}
	secret := filepath.Join(p.dir, "password")
	if err := os.WriteFile(secret, []byte(password), 0o644); err != nil { //nolint:gosec // not a secret
		return fmt.Errorf("write the password: %w", err)
	}
	data := filepath.Join(p.dir, "data")
	initdb := p.command(ctx, identity, "initdb", "--pgdata="+data, "--username="+admin, "--pwfile="+secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initialise the data folder: %w\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(p.dir, "postgres.log"))
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	// It outlives the context of its start.
	postgres := p.command(context.WithoutCancel(ctx), identity, "postgres", "-D", data, "-p", strconv.Itoa(p.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	postgres.Stdout, postgres.Stderr = log, log
	err = postgres.Start()
	if err = errors.Join(err, log.Close()); err != nil {
		return fmt.Errorf("run %s: %w", postgres.Path, err)
	}
	go reap(postgres)
	return p.waitAnswer(ctx, s, postgres.Process.Pid)
}

func (p program) command(ctx context.Context, as *syscall.Credential, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...) //nolint:gosec // fixed programs with our own arguments
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), p.marker, "LC_ALL=C")
	// Ctrl-C ends the test; the watchdog ends the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setsid: true}
	return cmd
}

// identity is whom the server runs as: nil for ourselves. As root it also gives the folder to that user.
func (p program) identity() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // no credential means our own
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no other user to run it: %w", err)
		}
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read the id of user %s: %w", account.Username, err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read the group of user %s: %w", account.Username, err)
	}
	if err := os.Chown(p.dir, int(uid), int(gid)); err != nil {
		return nil, fmt.Errorf("give the folder to user %s: %w", account.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// reap takes the exit status, so that a server that ended is not a zombie. How it ended stands in its log.
func reap(cmd *exec.Cmd) {
	if err := cmd.Wait(); err != nil {
		return
	}
}

func (p program) waitAnswer(ctx context.Context, s *Server, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := s.psql(ctx, "postgres", "SELECT 1")
		if err == nil {
			return nil
		}
		if !proc.Alive(pid) {
			log, logErr := os.ReadFile(filepath.Join(p.dir, "postgres.log"))
			return errors.Join(fmt.Errorf("the PostgreSQL server ended: %s", log), logErr)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the PostgreSQL server does not answer: %w", errors.Join(ctx.Err(), err))
		case <-tick.C:
		}
	}
}
