// Package checkout knows where things lie in a checkout of Flotilla and what its local stack is called.
//
// Everything the stack writes lies in one folder, .local at the top of the checkout unless FLOTILLA_LOCAL names
// another one, and all names are derived from that folder's path. So stacks of two checkouts run side by side, and a
// test runs one of its own beside the one that a developer uses.
package checkout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// FolderVariable names the environment variable that moves the stack's folder.
const FolderVariable = "FLOTILLA_LOCAL"

// Checkout is a checkout and the folder of one stack of it.
type Checkout struct {
	Root string // top of the checkout
	// Folder is what the stack writes into; empty means .local in Root.
	Folder string
}

// Find looks for the checkout in and above the working directory.
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
	if folder := os.Getenv(FolderVariable); folder != "" {
		if c.Folder, err = filepath.Abs(folder); err != nil {
			return Checkout{}, fmt.Errorf("find the folder %s of the stack: %w", folder, err)
		}
	}
	return c, nil
}

// Path is a path in the checkout.
func (c Checkout) Path(parts ...string) string {
	return filepath.Join(append([]string{c.Root}, parts...)...)
}

// Local is a path in the stack's own folder.
func (c Checkout) Local(parts ...string) string {
	folder := c.Folder
	if folder == "" {
		folder = c.Path(".local")
	}
	return filepath.Join(append([]string{folder}, parts...)...)
}

// Log is the log file of a part of the stack.
func (c Checkout) Log(part string) string {
	return c.Local("log", part+".log")
}

// ID is eight hexadecimal digits, the same for each run of this stack.
func (c Checkout) ID() string {
	sum := sha256.Sum256([]byte(c.Local()))
	return hex.EncodeToString(sum[:4])
}

// Marker stands in the environment of every process of the stack, so that `down` finds those that nothing else knows.
func (c Checkout) Marker() string {
	return watchdog.Marker("FLOTILLA_STACK", c.Local())
}

// Services lists the services of modules.txt, in its order.
func (c Checkout) Services() ([]string, error) {
	data, err := os.ReadFile(c.Path("modules.txt"))
	if err != nil {
		return nil, fmt.Errorf("list the services: %w", err)
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && !strings.HasPrefix(fields[0], "#") && fields[1] == "service" {
			names = append(names, filepath.Base(fields[0]))
		}
	}
	return names, nil
}

// Choose returns the services to run: all, or those in a list separated by commas. A service whose main package is not
// there is an error.
func (c Checkout) Choose(list string) ([]string, error) {
	all, err := c.Services()
	if err != nil {
		return nil, err
	}
	chosen := all
	if list != "" {
		chosen = strings.Split(list, ",")
	}
	for _, name := range chosen {
		if !contains(all, name) {
			return nil, fmt.Errorf("no service %q; there are %s", name, strings.Join(all, ", "))
		}
		if _, err := os.Stat(c.Main(name)); err != nil {
			return nil, fmt.Errorf("service %s has no services/%s/cmd/%s yet; leave it out with --services", name, name, name)
		}
	}
	return chosen, nil
}

// Main is the folder of a service's main package.
func (c Checkout) Main(service string) string {
	return c.Path("services", service, "cmd", service)
}

func contains(all []string, name string) bool {
	for _, one := range all {
		if one == name {
			return true
		}
	}
	return false
}
