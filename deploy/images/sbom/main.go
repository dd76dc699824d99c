// Command sbom writes what a Go program was built from to standard output, as a CycloneDX 1.6 document: the program
// itself and each module in it, with its version, package URL and checksum. It reads nothing but the build info that
// the Go toolchain puts into every program, so the document is true of exactly that file, and the same file always
// gives the same document.
//
// Usage: sbom NAME VERSION FILE
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom NAME VERSION FILE")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(w io.Writer, name, version, file string) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the build info: %w", err)
	}
	bom, err := document(info, name, version)
	if err != nil {
		return err
	}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

func document(info *debug.BuildInfo, name, version string) (*cdx.BOM, error) {
	bom := cdx.NewBOM()
	program := cdx.Component{
		BOMRef: name, Type: cdx.ComponentTypeApplication, Name: name, Version: version,
		PackageURL: "pkg:golang/" + info.Main.Path + "@" + version,
	}
	bom.Metadata = &cdx.Metadata{Component: &program}
	std := strings.TrimPrefix(info.GoVersion, "go")
	components := []cdx.Component{{
		BOMRef: "std", Type: cdx.ComponentTypeLibrary, Name: "std", Version: std, PackageURL: "pkg:golang/std@" + std,
	}}
	for _, m := range info.Deps {
		c, err := component(m)
		if err != nil {
			return nil, err
		}
		components = append(components, c)
	}
	refs := make([]string, 0, len(components))
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: name, Dependencies: &refs}}
	return bom, nil
}

// component is one module. A module that another replaces is that other one, but for the folders of this repository,
// which keep their names.
func component(m *debug.Module) (cdx.Component, error) {
	if m.Replace != nil && !strings.HasPrefix(m.Replace.Path, ".") {
		m = m.Replace
	}
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url}
	if sum, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
		raw, err := base64.StdEncoding.DecodeString(sum)
		if err != nil {
			return c, fmt.Errorf("checksum of %s: %w", m.Path, err)
		}
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
	}
	return c, nil
}
