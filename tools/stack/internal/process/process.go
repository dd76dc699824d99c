// Package process runs the programs of the stack detached from the terminal, each with a log file and a pid file. A
// marker in the environment identifies a process, since pids are reused.
package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// Spec describes a program of the stack.
type Spec struct {
	Name string
	Args []string // the program and its arguments
	Env  []string // KEY=value, on top of the stack's own environment
	Dir  string
	Log  string // file; appended to
	Run  string // directory of the pid files
	// Marker of the stack; see checkout.Marker.
	Marker string
	// Files are the inputs of the process: a change of their contents makes a running process out of date.
	Files []string
	// Apart makes the process the first one of its own process, mount and network namespaces. It requires Linux and root.
	Apart bool
}

const (
	grace     = 20 * time.Second
	rotateAt  = 20 << 20
	pidSuffix = ".pid"
	sumSuffix = ".sum"
)

// PID returns the pid of the running process of the spec, or 0. It ignores another process that has reused the pid.
func (s Spec) PID() int {
	data, err := os.ReadFile(s.file(pidSuffix))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || !proc.Has(pid, s.Marker) || !proc.Has(pid, s.part()) {
		return 0
	}
	return pid
}

// Current reports whether the process runs and was started from the same files and arguments.
func (s Spec) Current() (bool, error) {
	if s.PID() == 0 {
		return false, nil
	}
	want, err := s.fingerprint()
	if err != nil {
		return false, err
	}
	has, err := os.ReadFile(s.file(sumSuffix))
	return err == nil && strings.TrimSpace(string(has)) == want, nil
}

// Start starts the process. It must not be running.
func (s Spec) Start() error {
	for _, dir := range []string{s.Run, filepath.Dir(s.Log)} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fmt.Errorf("start %s: %w", s.Name, err)
		}
	}
	sum, err := s.fingerprint()
	if err != nil {
		return err
	}
	log, err := openLog(s.Log)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	cmd := exec.Command(s.Args[0], s.Args[1:]...) //nolint:noctx // the program outlives this process
	cmd.Dir = s.Dir
	cmd.Env = slices.Concat(proc.CleanEnv(os.Environ()), s.Env, []string{s.Marker, s.part()})
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = s.attributes()
	err = cmd.Start()
	if err = errors.Join(err, log.Close()); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	pid := cmd.Process.Pid
	if err := errors.Join(
		os.WriteFile(s.file(sumSuffix), []byte(sum+"\n"), 0o600),
		os.WriteFile(s.file(pidSuffix), []byte(strconv.Itoa(pid)+"\n"), 0o600),
		cmd.Process.Release(),
	); err != nil {
		return fmt.Errorf("record the process of %s: %w", s.Name, err)
	}
	return nil
}

// Stop terminates the process, kills it after a timeout, and removes its pid file. It does nothing if the process does
// not run.
func (s Spec) Stop(ctx context.Context) error {
	if pid := s.PID(); pid != 0 {
		if err := proc.Terminate(ctx, pid, grace); err != nil {
			return fmt.Errorf("stop %s: %w", s.Name, err)
		}
	}
	for _, suffix := range []string{pidSuffix, sumSuffix} {
		if err := os.Remove(s.file(suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("stop %s: %w", s.Name, err)
		}
	}
	return nil
}

// Kill kills the process. Its pid file stays, like after a crash.
func (s Spec) Kill(ctx context.Context) error {
	pid := s.PID()
	if pid == 0 {
		return fmt.Errorf("kill %s: it does not run", s.Name)
	}
	if err := proc.Kill(ctx, pid); err != nil {
		return fmt.Errorf("kill %s: %w", s.Name, err)
	}
	return nil
}

func (s Spec) file(suffix string) string {
	return filepath.Join(s.Run, s.Name+suffix)
}

func (s Spec) part() string {
	return "FLOTILLA_STACK_PART=" + s.Name + ";"
}

func (s Spec) fingerprint() (string, error) {
	sum := sha256.New()
	for _, text := range append(append([]string{}, s.Args...), s.Env...) {
		sum.Write([]byte(text + "\x00"))
	}
	for _, path := range s.Files {
		if err := addFile(sum, path); err != nil {
			return "", fmt.Errorf("read the inputs of %s: %w", s.Name, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func addFile(w io.Writer, path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(w, file)
	return err
}

// openLog opens a log for appending. It first rotates a large log.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > rotateAt {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}
