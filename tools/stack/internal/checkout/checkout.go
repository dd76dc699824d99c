// Package checkout locates the files of a Flotilla checkout and names its local stack.
//
// The stack writes only to one directory, .local at the root of the checkout unless FLOTILLA_LOCAL sets another one, and
// derives all names from the path of that directory. So the stacks of two checkouts can run at the same time, and a test
// can run its own stack next to that of a developer.
package checkout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// DirVariable is the environment variable that names the stack's directory.
const DirVariable = "FLOTILLA_LOCAL"

// Checkout is a checkout and the directory of one stack of it.
type Checkout struct {
	Root string // top of the checkout
	// Dir is the directory of the stack; empty means .local in Root.
	Dir string
}

// Find finds the checkout that contains the working directory.
func Find() (Checkout, error) {
	module, err := controlplane.Module()
	if err != nil {
		return Checkout{}, err
	}
	root, err := filepath.EvalSymlinks(filepath.Dir(filepath.Dir(module)))
	if err != nil {
		return Checkout{}, fmt.Errorf("find the checkout: %w", err)
	}
	c := Checkout{Root: root}
	if dir := os.Getenv(DirVariable); dir != "" {
		if c.Dir, err = filepath.Abs(dir); err != nil {
			return Checkout{}, fmt.Errorf("resolve the stack directory %s: %w", dir, err)
		}
	}
	return c, nil
}

// Path returns a path in the checkout.
func (c Checkout) Path(parts ...string) string {
	return filepath.Join(append([]string{c.Root}, parts...)...)
}

// Local returns a path in the stack's directory.
func (c Checkout) Local(parts ...string) string {
	dir := c.Dir
	if dir == "" {
		dir = c.Path(".local")
	}
	return filepath.Join(append([]string{dir}, parts...)...)
}

// Log returns the log file of a component of the stack.
func (c Checkout) Log(part string) string {
	return c.Local("log", part+".log")
}

// ID returns eight hexadecimal digits that identify this stack. It is the same for each run.
func (c Checkout) ID() string {
	sum := sha256.Sum256([]byte(c.Local()))
	return hex.EncodeToString(sum[:4])
}

// Marker returns the environment variable that every process of the stack has, so that `down` can find processes without
// a pid file.
func (c Checkout) Marker() string {
	return watchdog.Marker("FLOTILLA_STACK", c.Local())
}

// Services lists the services of modules.txt, in its order.
func (c Checkout) Services() ([]string, error) {
	return goprogram.Services(c.Root)
}

// Choose returns the services to run: all, or those in a list that commas or spaces separate. It returns an error if a service has no
// main package.
func (c Checkout) Choose(list string) ([]string, error) {
	all, err := c.Services()
	if err != nil {
		return nil, err
	}
	chosen := all
	if list != "" {
		chosen = strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	}
	for _, name := range chosen {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("unknown service %q, want one of %s", name, strings.Join(all, ", "))
		}
		if _, err := os.Stat(c.Main(name)); err != nil {
			return nil, fmt.Errorf("service %s has no services/%s/cmd/%s yet; leave it out with --services", name, name, name)
		}
	}
	return chosen, nil
}

// Main returns the directory of a service's main package.
func (c Checkout) Main(service string) string {
	return c.Path("services", service, "cmd", service)
}
