// Command compose writes the generated files of the charts: the RBAC rules, webhooks and admission
// policies from the config of the services, and the values, their schema and the table of the README
// from deploy/charts/parts.
//
// Usage, in this module: go run ./compose [-root ../..]
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
)

func main() {
	root := flag.String("root", "../..", "the checkout")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "compose:", err)
		os.Exit(1)
	}
}

// run composes a chart for each service, and a second one for the CRDs of those that have any.
func run(root string) error {
	services, err := goprogram.Services(root)
	if err != nil {
		return err
	}
	for _, service := range services {
		c := chart{
			service: service,
			config:  filepath.Join(root, "services", service, "config"),
			parts:   filepath.Join(root, "deploy/charts/parts"),
			dir:     filepath.Join(root, "deploy/charts", service),
		}
		if err := errors.Join(c.copyConfig(), c.document(c.serviceValues, c.serviceSchema)); err != nil {
			return fmt.Errorf("%s: %w", service, err)
		}
		if _, err := os.Stat(filepath.Join(c.config, "crd")); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		c.dir += "-crds"
		err := errors.Join(
			copyFile(filepath.Join(c.parts, "crds.links.yaml"), filepath.Join(c.dir, "templates/links.yaml")),
			c.document(c.definitionValues, c.definitionSchema),
		)
		if err != nil {
			return fmt.Errorf("%s-crds: %w", service, err)
		}
	}
	return nil
}

// chart is a directory of deploy/charts.
type chart struct {
	service string
	config  string // the service's manifests
	parts   string // directory of the shared parts
	dir     string
}

// copyConfig copies the RBAC rules and, if they exist, webhooks and admission policies.
func (c chart) copyConfig() error {
	return errors.Join(
		replace(filepath.Join(c.config, "rbac"), filepath.Join(c.dir, "files/rbac"), "*.yaml"),
		replace(filepath.Join(c.config, "webhook"), filepath.Join(c.dir, "files/webhook"), "manifests.yaml"),
		replace(filepath.Join(c.config, "admission"), filepath.Join(c.dir, "files/admission"), "*.yaml"),
	)
}

// replace makes a directory contain exactly the matching files of another. It treats a missing directory as empty.
func replace(from, to, pattern string) error {
	files, err := filepath.Glob(filepath.Join(from, pattern))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	for _, file := range files {
		if err := copyFile(file, filepath.Join(to, filepath.Base(file))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return write(to, content)
}

func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

// fill replaces the placeholder of the service in a shared text.
func (c chart) fill(text string) string { return strings.ReplaceAll(text, "SERVICE", c.service) }
