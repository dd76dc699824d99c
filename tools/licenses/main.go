package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// own is the prefix of the modules of this repository.
const own = "github.com/flotilla-dev/flotilla/"

func main() {
	if err := run(context.Background(), ".."); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string) error {
	list, err := os.ReadFile(filepath.Join(root, "modules.txt"))
	if err != nil {
		return err
	}
	found := map[string]*Dependency{}
	for _, program := range programs(string(list)) {
		out, err := linkedModules(ctx, filepath.Join(root, program))
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		if err := add(found, filepath.Base(program), out); err != nil {
			return err
		}
	}
	text, err := render(found)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

// programs returns the modules of modules.txt that are released as binaries.
func programs(list string) []string {
	var out []string
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		if len(f) >= 3 && f[2] == "yes" && (f[1] == "service" || f[1] == "tool") {
			out = append(out, f[0])
		}
	}
	return out
}

// linkedModules lists the path, version and directory, tab-separated, of the modules that a module's programs are built from.
func linkedModules(ctx context.Context, dir string) (string, error) {
	// A service has its main package below cmd; the plugin is a main package itself.
	packages := "./cmd/..."
	if _, err := os.Stat(filepath.Join(dir, "cmd")); err != nil {
		packages = "."
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", packages)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	return string(out), nil
}

// add records the modules that a program is built from.
func add(found map[string]*Dependency, program, linkedModules string) error {
	for line := range strings.Lines(linkedModules) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 || strings.HasPrefix(f[0], own) {
			continue
		}
		key := f[0] + " " + f[1]
		d, known := found[key]
		if !known {
			licenses, err := licensesOf(f[2])
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			d = &Dependency{Module: f[0], Version: f[1], Licenses: licenses}
			found[key] = d
		}
		if !slices.Contains(d.Programs, program) {
			d.Programs = append(d.Programs, program)
		}
	}
	return nil
}
