// Command newservice writes a service: its modules from templates, and its row in each list of services.
//
// It checks its input first and prepares all files in memory, so an error leaves the checkout unchanged. make new-service
// runs it, and then what generates the rest: docs/adding-a-service.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	root := flag.String("root", "..", "the checkout")
	name := flag.String("name", "", "name of the service, for example widget-operator")
	kind := flag.String("kind", "", "kind that it reconciles, for example Widget")
	group := flag.String("group", "", "API group of the kind; default: the name without -operator, with the suffix .flotilla.dev")
	flag.Parse()
	if err := run(*root, *name, *kind, *group); err != nil {
		fmt.Fprintln(os.Stderr, "new-service:", err)
		os.Exit(1)
	}
}

func run(root, name, kind, group string) error {
	s, err := newService(root, name, kind, group)
	if err != nil {
		return err
	}
	if err := isClean(root); err != nil {
		return err
	}
	t := tree{root: root, files: map[string][]byte{}}
	for _, add := range []func(service) error{t.render, t.modules, t.chart, t.edit} {
		if err := add(s); err != nil {
			return err
		}
	}
	if err := t.write(s); err != nil {
		return err
	}
	fmt.Printf("new-service: wrote %d files for %s\n", len(t.files)+len(s.links()), name)
	return nil
}

// isClean returns an error if the checkout has uncommitted changes: the new files would mix with them.
func isClean(root string) error {
	cmd := exec.Command("git", "status", "--porcelain") //nolint:noctx // It ends by itself.
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git status: %w", err)
	}
	if first, _, _ := strings.Cut(string(out), "\n"); first != "" {
		return fmt.Errorf("the checkout has uncommitted changes (%s): commit or stash them", strings.TrimSpace(first))
	}
	return nil
}
