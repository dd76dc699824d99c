// Command generate writes the files that are generated from the registry: the CRDs, the manifests
// that add the finalizer to new objects, the schema page and new migrations for tables,
// columns and indexes that no migration creates yet.
// It runs in go generate after the descriptor set is compiled.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/crd"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/webhook"
)

func main() {
	root := flag.String("root", ".", "directory of the ingester")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	r, err := registry.Load()
	if err != nil {
		return err
	}
	for _, kind := range r.Kinds() {
		raw, err := crd.YAML(kind)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(root, "config", "crd", crd.FileName(kind)), raw); err != nil {
			return err
		}
	}
	for name, raw := range webhook.Manifests(r.Kinds()) {
		if err := write(filepath.Join(root, "config", filepath.FromSlash(name)), raw); err != nil {
			return err
		}
	}
	if err := write(filepath.Join(root, "docs", "schema.md"), schema.Page(r)); err != nil {
		return err
	}
	dir := filepath.Join(root, "migrations")
	files, err := schema.Missing(os.DirFS(dir), schema.Tables(r))
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := write(filepath.Join(dir, f.Name), []byte(f.Content)); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // source directories, readable like all others
		return err
	}
	return os.WriteFile(path, content, 0o644) //nolint:gosec // generated source files, readable like all others
}
