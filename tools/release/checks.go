package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/tools/release/internal/module"
	"github.com/flotilla-dev/flotilla/tools/release/internal/passed"
	"github.com/flotilla-dev/flotilla/tools/release/internal/repository"
)

// pending prints the name and the key of each check that must run, and notes the skipped ones.
func (p program) pending(ctx context.Context, checks []string, fresh bool) error {
	modules, err := module.Load(p.root)
	if err != nil {
		return err
	}
	contents, err := repository.Repository{Dir: p.root}.Contents(ctx)
	if err != nil {
		return err
	}
	store, err := p.store()
	if err != nil {
		return err
	}
	for _, check := range checks {
		name, list, found := strings.Cut(check, "=")
		if !found || name == "" {
			return fmt.Errorf("a check is NAME=INPUT[,INPUT...], got %q", check)
		}
		inputs, err := module.InputsOf(modules, strings.Split(list, ",")...)
		if err != nil {
			return err
		}
		key := passed.Key(name, toolchain(), contained(contents, inputs))
		when, known, err := store.Since(key)
		if err != nil {
			return err
		}
		if known && !fresh {
			fmt.Fprintf(p.notes, "%s: unchanged since it passed here on %s\n", name, when.Format(time.DateTime))
			continue
		}
		fmt.Fprintf(p.out, "%s %s\n", name, key)
	}
	return nil
}

func contained(contents map[string]string, inputs module.Inputs) map[string]string {
	out := map[string]string{}
	for file, hash := range contents {
		if inputs.Contains(file) {
			out[file] = hash
		}
	}
	return out
}

// toolchain identifies the inputs of checks from the machine: Go, and the system whose packages the tests run.
func toolchain() string {
	system, err := os.ReadFile("/etc/os-release")
	if err != nil {
		system = []byte(runtime.GOOS)
	}
	return runtime.Version() + " " + runtime.GOARCH + " " + string(system)
}

func (p program) passed(keys []string) error {
	store, err := p.store()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if len(key) != 64 || strings.Trim(key, "0123456789abcdef") != "" {
			return fmt.Errorf("%q is not a key that pending prints", key)
		}
		if err := store.Add(key); err != nil {
			return err
		}
	}
	return nil
}

// store returns the store in the cache directory, which outlives the checkout.
func (p program) store() (passed.Store, error) {
	dir := os.Getenv("FLOTILLA_CACHE")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return passed.Store{}, err
		}
		dir = filepath.Join(cache, "flotilla")
	}
	return passed.Store{Dir: filepath.Join(dir, "passed"), Now: p.now}, nil
}

// export copies the inputs of a module, so that a test that reads other files fails. It returns an error if the key of
// the check unit:MODULE has changed.
func (p program) export(ctx context.Context, name, dir, key string) error {
	modules, err := module.Load(p.root)
	if err != nil {
		return err
	}
	inputs, err := module.InputsOf(modules, name)
	if err != nil {
		return err
	}
	contents, err := repository.Repository{Dir: p.root}.Contents(ctx)
	if err != nil {
		return err
	}
	files := contained(contents, inputs)
	if key != "" && key != passed.Key("unit:"+name, toolchain(), files) {
		return fmt.Errorf("%s changed since its key was computed: run its tests again", name)
	}
	for file := range files {
		if err := copyFile(filepath.Join(p.root, filepath.FromSlash(file)), filepath.Join(dir, filepath.FromSlash(file))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}
