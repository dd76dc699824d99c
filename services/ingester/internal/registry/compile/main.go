// Command compile compiles the .proto files of the ingester to the descriptor set that the
// registry embeds. It runs in go generate, never at run time, and needs
// the Kubernetes modules in the module cache, since the kinds contain their messages.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	protoDir := flag.String("proto", "proto", "directory with the .proto files")
	out := flag.String("out", "descriptors.binpb", "descriptor set to write")
	flag.Parse()
	if err := run(context.Background(), *protoDir, *out); err != nil {
		fmt.Fprintln(os.Stderr, "compile:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, protoDir, out string) error {
	files, err := filepath.Glob(filepath.Join(protoDir, "*.proto"))
	if err != nil {
		return fmt.Errorf("list %q: %w", protoDir, err)
	}
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	sort.Strings(names)
	if len(names) == 0 {
		return fmt.Errorf("no .proto files in %q", protoDir)
	}
	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard,
		Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{
			&protocompile.SourceResolver{ImportPaths: []string{protoDir}},
			protocompile.ResolverFunc(kubernetesModule),
		}),
	}
	compiled, err := compiler.Compile(ctx, names...)
	if err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	for _, f := range compiled {
		collect(set, seen, f)
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return fmt.Errorf("marshal descriptor set: %w", err)
	}
	return os.WriteFile(out, raw, 0o644) //nolint:gosec // a generated source file, readable like all others
}

// collect appends the file after its imports, so that a reader can link the files in order.
// Comments are kept for the files of the ingester only: they become descriptions in CRDs and docs.
func collect(set *descriptorpb.FileDescriptorSet, seen map[string]bool, f protoreflect.FileDescriptor) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	imports := f.Imports()
	for i := range imports.Len() {
		collect(set, seen, imports.Get(i).FileDescriptor)
	}
	fd := protodesc.ToFileDescriptorProto(f)
	if strings.Contains(f.Path(), "/") {
		fd.SourceCodeInfo = nil
	}
	set.File = append(set.File, fd)
}

// kubernetesModule finds k8s.io/<module>/... in the module cache.
func kubernetesModule(path string) (protocompile.SearchResult, error) {
	parts := strings.SplitN(path, "/", 3)
	if len(parts) != 3 || parts[0] != "k8s.io" {
		return protocompile.SearchResult{}, os.ErrNotExist
	}
	module := parts[0] + "/" + parts[1]
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output() //nolint:gosec,noctx // a build tool; the module's name comes from our own import lines
	if err != nil {
		return protocompile.SearchResult{}, fmt.Errorf("find module %q: %w", module, err)
	}
	source, err := os.Open(filepath.Join(strings.TrimSpace(string(dir)), filepath.FromSlash(parts[2])))
	if err != nil {
		return protocompile.SearchResult{}, err
	}
	return protocompile.SearchResult{Source: source}, nil // the compiler closes it
}
