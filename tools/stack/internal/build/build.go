// Package build compiles the programs of the local stack.
package build

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/checkout"
)

// Service compiles a service into a file, from its own go.mod like its image. An unchanged service results in an
// identical file. It uses the flags of a plain go build, so that it shares the build cache with tests.
func Service(ctx context.Context, c checkout.Checkout, name, file string) error {
	out, err := command(ctx, c.Path("services", name), "go", "build", "-o", file, "./cmd/"+name)
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

// Plugin compiles the kubectl plugin into a file.
func Plugin(ctx context.Context, c checkout.Checkout, file string) error {
	out, err := command(ctx, c.Path("cmd", "kubectl-flotilla"), "go", "build", "-o", file, ".")
	if err != nil {
		return fmt.Errorf("build kubectl-flotilla: %w\n%s", err, out)
	}
	return nil
}

// Static compiles a package of a module into a static program.
func Static(ctx context.Context, module, pkg, file string) error {
	out, err := command(ctx, module, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, pkg)
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// Once compiles a static program unless the file exists. An existing file is always complete. It calls starting before it
// compiles.
func Once(ctx context.Context, module, pkg, file string, starting func()) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	starting()
	if err := Static(ctx, module, pkg, file+".part"); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}

// NATS compiles the pinned NATS server unless it is in the cache.
func NATS(ctx context.Context, c checkout.Checkout) error {
	out, err := command(ctx, c.Root, c.Path("hack", "tool"), "nats-server", "--version")
	if err != nil {
		return fmt.Errorf("build nats-server: %w\n%s", err, out)
	}
	return nil
}

// Images builds the images of the services, of NATS and of MySQL without a registry, and those of the given directories
// of test/e2e/images. It saves the named ones as tars in a directory, and passes the name of each built image to built.
func Images(ctx context.Context, c checkout.Checkout, dir string, names, e2e []string, built func(name string)) error {
	script := `hack/images.sh offline >&2; [ -z "$1" ] || hack/images.sh e2e $1 >&2; hack/images.sh save "$0" "${@:2}"`
	args := append([]string{"run", "hack/images.sh", "exclusive", "bash", "-euc", script, dir, strings.Join(e2e, " ")}, names...)
	out, err := lines(proc.Group(ctx, c.Root, c.Path("hack", "docker"), args...), func(line string) {
		// IMAGE <name> <bytes> <seconds>
		if fields := strings.Fields(line); len(fields) == 4 && fields[0] == "IMAGE" {
			built(fields[1])
		}
	})
	if err != nil {
		return fmt.Errorf("build images: %w\n%s", err, out)
	}
	return nil
}

// lines runs a command, and passes each line of its output to a function at once. It returns the whole output.
func lines(cmd *exec.Cmd, line func(string)) (output string, err error) {
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	result := make(chan error, 1)
	go func() {
		err := cmd.Run()
		result <- errors.Join(err, w.Close())
	}()
	var all strings.Builder
	for reader, end := bufio.NewReader(r), error(nil); end == nil; {
		var text string
		text, end = reader.ReadString('\n')
		all.WriteString(text)
		line(text)
	}
	return strings.TrimSpace(all.String()), <-result
}

func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	out, err := proc.Group(ctx, dir, name, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
