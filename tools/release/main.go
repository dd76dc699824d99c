package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/tools/release/internal/affected"
	"github.com/flotilla-dev/flotilla/tools/release/internal/changelog"
	"github.com/flotilla-dev/flotilla/tools/release/internal/chart"
	"github.com/flotilla-dev/flotilla/tools/release/internal/module"
	"github.com/flotilla-dev/flotilla/tools/release/internal/prepare"
	"github.com/flotilla-dev/flotilla/tools/release/internal/repository"
)

const usage = `usage:
  release affected -base REF [-names]                     list the modules that the changes since REF can break
  release pending [-fresh] NAME=INPUT[,INPUT...] ...      list the checks that have not passed here with the current content
                                                          of their inputs: modules, and directories that end in a slash
  release passed KEY ...                                  record checks as passed, by the keys that pending printed
  release export -module PATH -dir DIR [-key KEY]         copy a module with all files that its tests may read
  release prep -module PATH -version vX.Y.Z [-write]      check whether a module can be released, print the commands`

// errRefused ends the program with 1 after the reasons have been printed.
var errRefused = errors.New("not ready")

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	p := program{out: os.Stdout, notes: os.Stderr, root: "..", now: time.Now}
	err := p.run(ctx, os.Args[1:])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

type program struct {
	out   io.Writer
	notes io.Writer // receives the checks that pending skips, and the reasons
	root  string    // the checkout
	now   func() time.Time
}

func (p program) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	set.SetOutput(io.Discard)
	switch args[0] {
	case "affected":
		base := set.String("base", "", "git ref to compare with")
		names := set.Bool("names", false, "print paths only")
		if err := parse(set, args[1:], "base"); err != nil {
			return err
		}
		return p.affected(ctx, *base, *names)
	case "pending":
		fresh := set.Bool("fresh", false, "ignore recorded results")
		if err := set.Parse(args[1:]); err != nil {
			return fmt.Errorf("%w\n%s", err, usage)
		}
		return p.pending(ctx, set.Args(), *fresh)
	case "passed":
		return p.passed(args[1:])
	case "export":
		name := set.String("module", "", "path of modules.txt")
		dir := set.String("dir", "", "where to")
		key := set.String("key", "", "fail if the check unit:MODULE has another key now")
		if err := parse(set, args[1:], "module", "dir"); err != nil {
			return err
		}
		return p.export(ctx, *name, *dir, *key)
	case "prep":
		path := set.String("module", "", "path of modules.txt")
		version := set.String("version", "", "vX.Y.Z")
		write := set.Bool("write", false, "write CHANGELOG.md and Chart.yaml, or go.mod")
		if err := parse(set, args[1:], "module", "version"); err != nil {
			return err
		}
		return p.prep(ctx, *path, *version, *write)
	}
	return errors.New(usage)
}

// parse parses flags and checks that the required ones are set.
func parse(set *flag.FlagSet, args []string, required ...string) error {
	if err := set.Parse(args); err != nil {
		return fmt.Errorf("%w\n%s", err, usage)
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q\n%s", set.Arg(0), usage)
	}
	for _, name := range required {
		if set.Lookup(name).Value.String() == "" {
			return fmt.Errorf("-%s is missing\n%s", name, usage)
		}
	}
	return nil
}

// affected prints the affected modules. Uncommitted changes count as changes.
func (p program) affected(ctx context.Context, base string, names bool) error {
	modules, err := module.Load(p.root)
	if err != nil {
		return err
	}
	git := repository.Repository{Dir: p.root}
	files, err := git.Changed(ctx, base)
	if err != nil {
		return err
	}
	dirty, err := git.Dirty(ctx)
	if err != nil {
		return err
	}
	found, err := affected.Of(modules, append(files, dirty...))
	if err != nil {
		return err
	}
	for _, a := range found {
		if names {
			fmt.Fprintln(p.out, a.Path)
		} else {
			fmt.Fprintf(p.out, "%-32s %s\n", a.Path, a.Reason)
		}
	}
	return nil
}

func (p program) prep(ctx context.Context, path, version string, write bool) error {
	state, err := p.state(ctx, path)
	if err != nil {
		return err
	}
	plan := prepare.For(state, path, version)
	if plan.Cut && write {
		return p.cut(state, path, version)
	}
	for _, problem := range plan.Problems {
		fmt.Fprintln(p.out, "NOT READY:", problem)
	}
	if plan.Cut {
		fmt.Fprintln(p.out, "With WRITE=1 the section [Unreleased] becomes this version, and the charts of a service get it.")
	}
	if len(plan.Problems) > 0 {
		return errRefused
	}
	if plan.Rewrite && write {
		if err := p.resolve(path, plan.Versions); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "%s can be released. ", plan.Tag)
	switch {
	case plan.Rewrite && !write:
		fmt.Fprintf(p.out, "With WRITE=1 %s/go.mod is written for the tag; then run:\n", path)
	case plan.Rewrite:
		fmt.Fprintf(p.out, "%s/go.mod is written for the tag. Now run:\n", path)
	default:
		fmt.Fprintln(p.out, "Nothing has to be written. Run:")
	}
	for _, command := range prepare.Commands(plan, path) {
		fmt.Fprintln(p.out, "  "+command)
	}
	return nil
}

// state reads the checkout.
func (p program) state(ctx context.Context, path string) (prepare.State, error) {
	var s prepare.State
	var err error
	git := repository.Repository{Dir: p.root}
	if s.Modules, err = module.Load(p.root); err != nil {
		return s, err
	}
	if s.Tags, err = git.Tags(ctx); err != nil {
		return s, err
	}
	if s.Dirty, err = git.Dirty(ctx); err != nil {
		return s, err
	}
	text, err := os.ReadFile(filepath.Join(p.root, filepath.FromSlash(path), "CHANGELOG.md"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return s, err
	}
	s.Changelog = string(text)
	s.Charts = map[string]string{}
	for _, file := range chart.Files(p.root, path) {
		text, err := os.ReadFile(filepath.Join(p.root, filepath.FromSlash(file)))
		if err != nil {
			return s, err
		}
		s.Charts[file] = string(text)
	}
	s.Changed = map[string][]string{}
	m, _ := module.Find(s.Modules, path)
	for _, required := range m.Requires {
		last := prepare.Latest(s.Tags, required)
		if last == "" {
			continue
		}
		files, err := git.Changed(ctx, required+"/"+last)
		if err != nil {
			return s, err
		}
		for _, file := range files {
			if owner, found := module.Owner(s.Modules, file); found && owner.Path == required {
				s.Changed[required] = append(s.Changed[required], file)
			}
		}
	}
	return s, nil
}

// cut writes the version to the changelog and the charts.
func (p program) cut(s prepare.State, path, version string) error {
	cut, err := changelog.Cut(s.Changelog, version, p.now().UTC().Format(time.DateOnly))
	if err != nil {
		return err
	}
	written := map[string]string{path + "/CHANGELOG.md": cut}
	for file, text := range s.Charts {
		if written[file], err = chart.Set(text, version); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	files := slices.Sorted(maps.Keys(written))
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(p.root, filepath.FromSlash(file)), []byte(written[file]), 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "Written: %s. Review it, commit it to the branch, and run this command again:\n", strings.Join(files, ", "))
	if len(s.Charts) > 0 {
		fmt.Fprintln(p.out, "  make charts-golden")
		files = append(files, "test/charts/testdata/golden")
	}
	fmt.Fprintf(p.out, "  git commit -m %q -- %s\n", path+": changelog of "+version, strings.Join(files, " "))
	return nil
}

func (p program) resolve(path string, versions map[string]string) error {
	file := filepath.Join(p.root, filepath.FromSlash(path), "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	resolved, err := prepare.Resolve(text, versions)
	if err != nil {
		return err
	}
	return os.WriteFile(file, resolved, 0o644)
}
