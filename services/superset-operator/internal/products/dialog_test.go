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

// output is the current output of a process.
type output struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

// process is a command that runs alongside the test.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	printed *output
	ended   chan struct{}
	err     error
	// input and answers are the pipes of a program of testdata.
	input   io.WriteCloser
	answers *bufio.Reader
}

// start starts the container's command.
func (c *container) start() *process {
	c.t.Helper()
	return c.launch(c.command(c.t.Context(), c.words...), nil)
}

// converse starts a program of testdata that answers lines on its file descriptor 3.
func (c *container) converse(program string, args ...string) *process {
	c.t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", program))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.launch(c.command(c.t.Context(), append([]string{"python3", path}, args...)...), c.pipe())
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

func (c *container) launch(cmd *exec.Cmd, pipe []*os.File) *process {
	c.t.Helper()
	p := &process{t: c.t, cmd: cmd, printed: &output{}, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.printed, p.printed
	if pipe != nil {
		cmd.ExtraFiles = pipe[1:]
		p.answers = bufio.NewReader(pipe[0])
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
		close(p.ended)
	}()
	c.t.Cleanup(p.kill)
	return p
}

// kill sends SIGKILL to the process and its children.
func (p *process) kill() {
	_ = p.cmd.Cancel()
	<-p.ended
}

// code waits for the exit of the process and returns its exit code.
func (p *process) code() int {
	p.t.Helper()
	<-p.ended
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		p.t.Fatal(p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// prints returns a check that fails unless the process has printed a text.
func (p *process) prints(text string) func() error {
	return func() error {
		if !strings.Contains(p.printed.String(), text) {
			return fmt.Errorf("%q is not in: %s", text, tail(p.printed.String()))
		}
		return nil
	}
}

// ask writes a line, unless it is empty, and returns the answer.
func (p *process) ask(line string) string {
	p.t.Helper()
	if line != "" {
		if _, err := fmt.Fprintln(p.input, line); err != nil {
			p.t.Fatalf("%v: %s", err, tail(p.printed.String()))
		}
	}
	answer, err := p.answers.ReadString('\n')
	if err != nil {
		p.t.Fatalf("no answer to %q: %v: %s", line, err, tail(p.printed.String()))
	}
	return strings.TrimSpace(answer)
}
