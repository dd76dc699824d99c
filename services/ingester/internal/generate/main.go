// Command generate writes the files that follow from the registry: the CRDs, the manifests that add the finalizer to new
// objects, the schema page, new migrations for tables, columns and indexes that no migration creates yet, the kinds of
// libs/contract, and the lists of kinds in permissions and in the document of the HTTP API.
// It runs in go generate after the descriptor set is compiled.
package main

import (
	"bytes"
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
	if err := writeMigrations(root, r); err != nil {
		return err
	}
	if err := write(filepath.Join(root, "..", "..", "libs", "contract", "zz_generated_michelangelo.go"), contractKinds(r.Kinds())); err != nil {
		return err
	}
	return writeLists(root, r.Kinds())
}

func writeMigrations(root string, r *registry.Registry) error {
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

// contractKinds returns the source of the kinds in libs/contract, which does not import packages of a service.
func contractKinds(kinds []*registry.Kind) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from the registry of the ingester. DO NOT EDIT.\n\npackage contract\n\nvar michelangeloKinds = []string{\n")
	for _, kind := range kinds {
		fmt.Fprintf(&b, "\t%q,\n", kind.Name)
	}
	b.WriteString("}\n")
	return b.Bytes()
}

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // source directories, readable like all others
		return err
	}
	return os.WriteFile(path, content, 0o644) //nolint:gosec // generated source files, readable like all others
}
