package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	// pause is the delay before a program that exited is restarted.
	pause = time.Second
	// grace is the time for programs to save their state before the kernel kills them with the sandbox.
	grace = 5 * time.Second
)

// supervisor keeps programs running. As the first process of its namespace it also reaps orphaned processes.
type supervisor struct {
	programs []Program
	log      io.Writer
	running  map[int]Program // by pid
	restart  chan Program
}

func newSupervisor(programs []Program, log io.Writer) *supervisor {
	return &supervisor{programs: programs, log: log, running: map[int]Program{}, restart: make(chan Program)}
}

type ended struct {
	pid    int
	status syscall.WaitStatus
}

func (s *supervisor) run(ctx context.Context) error {
	for _, p := range s.programs {
		if err := s.start(p); err != nil {
			return err
		}
	}
	exited := make(chan ended)
	go reap(exited)
	for {
		select {
		case <-ctx.Done():
			s.stop(exited)
			return nil
		case p := <-s.restart:
			if err := s.start(p); err != nil {
				return err
			}
		case e := <-exited:
			p, managed := s.running[e.pid]
			if !managed {
				continue
			}
			delete(s.running, e.pid)
			s.logf("%s exited (%s), restarting it", p.Name, describe(e.status))
			time.AfterFunc(pause, func() { s.restart <- p })
		}
	}
}

// stop sends SIGTERM to the programs and waits for them. It does not stop containers: the kernel kills their processes,
// like powering off a machine.
func (s *supervisor) stop(exited <-chan ended) {
	for pid := range s.running {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			s.logf("%v", err)
		}
	}
	deadline := time.After(grace)
	for len(s.running) > 0 {
		select {
		case e := <-exited:
			delete(s.running, e.pid)
		case <-deadline:
			return
		}
	}
}

func (s *supervisor) start(p Program) error {
	program, err := exec.LookPath(p.Args[0])
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer log.Close() //nolint:errcheck // the program has it now
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer null.Close() //nolint:errcheck // only read
	pid, err := syscall.ForkExec(program, p.Args, &syscall.ProcAttr{
		Dir: "/", Env: append(os.Environ(), p.Env...),
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	s.running[pid] = p
	s.logf("%s started", p.Name)
	return nil
}

// reap reports every process that exited, of programs and others.
func reap(exited chan<- ended) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.ECHILD): // until a program is restarted
			<-time.After(pause / 2)
		case err == nil:
			exited <- ended{pid, status}
		}
	}
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return status.Signal().String()
	}
	return fmt.Sprintf("exit code %d", status.ExitStatus())
}

func (s *supervisor) logf(format string, args ...any) {
	fmt.Fprintf(s.log, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}
