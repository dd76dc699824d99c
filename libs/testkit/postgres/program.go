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

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
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
	answerTimeout = 3 * time.Minute
)

// start starts a server that the watchdog removes.
func start() (*Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	bin, err := binDir(ctx)
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
	// Each database consists of about 300 files.
	directory, err := watchdog.NewDirectory(watchdog.Options{Prefix: "flotilla-postgres-", Key: markerKey, Memory: 1 << 30})
	if err != nil {
		return nil, err
	}
	p := program{bin: bin, dir: directory.Path, port: port, marker: directory.Marker}
	s := &Server{Bin: bin, Host: "127.0.0.1", Port: port, User: admin, Password: password}
	if err := p.launch(ctx, s); err != nil {
		return nil, errors.Join(err, directory.Release())
	}
	return s, nil
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
	if err := os.WriteFile(secret, []byte(password), 0o644); err != nil {
		return fmt.Errorf("write the password: %w", err)
	}
	data := filepath.Join(p.dir, "data")
	initdb := p.command(ctx, identity, "initdb", "--pgdata="+data, "--username="+admin, "--pwfile="+secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initialize the data directory: %w\n%s", err, out)
	}
	_, err = p.serve(ctx, identity, data, s)
	return err
}

// serve runs the server, which outlives ctx, and returns when it answers.
func (p program) serve(ctx context.Context, identity *syscall.Credential, data string, s *Server) (*proc.Child, error) {
	postgres := p.command(context.WithoutCancel(ctx), identity, "postgres", "-D", data, "-p", strconv.Itoa(p.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	child, err := proc.Start(postgres, filepath.Join(p.dir, "postgres.log"))
	if err != nil {
		return nil, err
	}
	return child, await.Nil(ctx, answerTimeout, 100*time.Millisecond, func(ctx context.Context) error {
		_, err := s.psql(ctx, "postgres", "SELECT 1")
		if ended := child.Running(); err != nil && ended != nil {
			return await.Stop(ended)
		}
		return err
	})
}

func (p program) command(ctx context.Context, as *syscall.Credential, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), p.marker, "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return cmd
}

// identity returns the user that the server runs as: nil for the current one. As root it also makes that user the
// owner of the directory.
func (p program) identity() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil // nil means the current user
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
		return nil, fmt.Errorf("change the owner of the directory to %s: %w", account.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
