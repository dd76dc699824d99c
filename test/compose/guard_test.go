package compose

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// child runs as the process that is killed while its project runs.
func child(project string) int {
	g, err := newGuard(project)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, args := range [][]string{
		{"network", "create", "--label", projectLabel + "=" + project, project},
		{"volume", "create", "--label", projectLabel + "=" + project, project},
		{"run", "--detach", "--label", projectLabel + "=" + project, "--network", project, "--volume", project + ":/tmp", os.Getenv("IMAGE")},
	} {
		cmd := exec.Command("docker", args...) //nolint:noctx // a test's own
		cmd.Env = append(os.Environ(), g.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "docker %v: %v: %s\n", args, err, out)
			return 1
		}
	}
	fmt.Println("running")
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return 1
	}
	return 0
}

func TestGuardCleansUpAfterKilledTest(t *testing.T) {
	d, project := start(t), newProject()
	cmd := exec.Command(os.Args[0]) //nolint:noctx // it is killed on purpose
	cmd.Env = append(os.Environ(), d.guard.env...)
	cmd.Env = append(cmd.Env, childVar+"="+project, "IMAGE="+d.image(t, "nats"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "running" {
		t.Fatalf("the child printed %q: %v", line, err)
	}
	if left, err := d.left(t, project); err != nil || len(left) != 3 {
		t.Fatalf("%v run, want a container, a network and a volume: %v", left, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child exited without a signal")
	}
	expect.Eventually(t, expect.Long, func() error {
		left, err := d.left(t, project)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%v are left", left)
		}
		return err
	})
}
