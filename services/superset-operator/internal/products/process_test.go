//go:build products

package products

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// syncBuffer is the current output of a process.
type syncBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (o *syncBuffer) Write(text []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(text)
}

func (o *syncBuffer) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

// process is a command that runs alongside the test.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	output *syncBuffer
	exited chan struct{}
	err    error
	// input and answers are the pipes of a program of testdata.
	input     io.WriteCloser
	responses *bufio.Reader
}

// start starts the container's command.
func (c *container) start() *process {
	c.t.Helper()
	return c.startCommand(c.command(c.t.Context(), c.args...), nil)
}

// startProgram starts a program of testdata that answers lines on its file descriptor 3.
func (c *container) startProgram(program string, args ...string) *process {
	c.t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", program))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.startCommand(c.command(c.t.Context(), append([]string{"python3", path}, args...)...), c.pipe())
}

// pipe returns the two ends of a pipe, the one to read from first.
func (c *container) pipe() []*os.File {
	c.t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = read.Close() })
	return []*os.File{read, write}
}

func (c *container) startCommand(cmd *exec.Cmd, pipe []*os.File) *process {
	c.t.Helper()
	p := &process{t: c.t, cmd: cmd, output: &syncBuffer{}, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	if pipe != nil {
		cmd.ExtraFiles = pipe[1:]
		p.responses = bufio.NewReader(pipe[0])
		input, err := cmd.StdinPipe()
		if err != nil {
			c.t.Fatal(err)
		}
		p.input = input
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	if pipe != nil {
		_ = pipe[1].Close()
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	c.t.Cleanup(p.kill)
	return p
}

// kill sends SIGKILL to the process and its children.
func (p *process) kill() {
	_ = p.cmd.Cancel()
	<-p.exited
}

// code waits for the exit of the process and returns its exit code.
func (p *process) code() int {
	p.t.Helper()
	<-p.exited
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		p.t.Fatal(p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// hasPrinted returns a check that fails unless the process has printed a text.
func (p *process) hasPrinted(text string) func() error {
	return func() error {
		if !strings.Contains(p.output.String(), text) {
			return fmt.Errorf("%q is not in: %s", text, tail(p.output.String()))
		}
		return nil
	}
}

// request writes a line, unless it is empty, and returns the response.
func (p *process) request(line string) string {
	p.t.Helper()
	if line != "" {
		if _, err := fmt.Fprintln(p.input, line); err != nil {
			p.t.Fatalf("%v: %s", err, tail(p.output.String()))
		}
	}
	response, err := p.responses.ReadString('\n')
	if err != nil {
		p.t.Fatalf("no answer to %q: %v: %s", line, err, tail(p.output.String()))
	}
	return strings.TrimSpace(response)
}
