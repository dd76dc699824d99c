package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/cachedir"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// Progress receives progress messages, one line at a time.
type Progress func(format string, args ...any)

// Build builds the missing programs of Programs and of more, for example NodePrograms. A lock serializes concurrent
// builds of several processes, so each program is built once.
func Build(ctx context.Context, module string, progress Progress, more ...Program) (Tools, error) {
	tools, err := At(module)
	if err != nil {
		return Tools{}, err
	}
	if len(tools.Missing(more...)) == 0 {
		return tools, nil
	}
	if err := os.MkdirAll(tools.Dir, 0o755); err != nil {
		return Tools{}, fmt.Errorf("create the tools directory: %w", err)
	}
	unlock, err := cachedir.Lock(ctx, filepath.Join(tools.Dir, ".lock"), func() {
		progress("waiting for another build of the control plane tools")
	})
	if err != nil {
		return Tools{}, fmt.Errorf("lock the tools directory: %w", err)
	}
	err = tools.build(ctx, module, progress, more)
	return tools, errors.Join(err, unlock())
}

func (t Tools) build(ctx context.Context, module string, progress Progress, more []Program) error {
	missing := map[string]bool{}
	for _, name := range t.Missing(more...) {
		missing[name] = true
	}
	if len(missing) == 0 {
		return nil
	}
	flags, err := ldflags(module)
	if err != nil {
		return err
	}
	programs := slices.DeleteFunc(slices.Concat(Programs, more), func(p Program) bool { return !missing[p.Name] })
	progress("building %d control plane tools into %s (the first time takes minutes)", len(programs), t.Dir)
	for i, p := range programs {
		progress("  [%d/%d] %s", i+1, len(programs), p.Name)
		start := time.Now() //nolint:forbidigo // progress for a person
		if err := t.buildOne(ctx, module, p, flags); err != nil {
			return err
		}
		progress("  [%d/%d] %s: %.0f s", i+1, len(programs), p.Name, time.Since(start).Seconds())
	}
	if !missing[stagesName] {
		return nil
	}
	return t.saveStages(ctx, module)
}

func (t Tools) buildOne(ctx context.Context, module string, p Program, flags string) error {
	part := t.Path("." + p.Name + ".part")
	cmd := goCommand(ctx, module, "build", "-trimpath", "-ldflags", flags, "-o", part, p.Package)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s from %s: %w\n%s", p.Name, p.Package, err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(part, t.Path(p.Name)); err != nil {
		return fmt.Errorf("keep %s: %w", p.Name, err)
	}
	return nil
}

func goCommand(ctx context.Context, module string, args ...string) *exec.Cmd {
	cmd := proc.Go(ctx, module, args...)
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	return cmd
}

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)`)

// KubernetesVersion returns the version of the control plane that the module pins, such as v1.36.3. helm template
// requires it, since it has no API server to get the version from.
func KubernetesVersion(module string) (string, error) {
	version, err := versionOf(module)
	if err != nil {
		return "", err
	}
	return version[1], nil
}

// versionOf returns a match in go.mod and its groups: the whole version, its major and its minor part.
func versionOf(module string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	m := kubernetesVersion.FindStringSubmatch(string(data))
	if m == nil {
		return nil, fmt.Errorf("no k8s.io/kubernetes version in %s/go.mod", module)
	}
	return m, nil
}

// ldflags returns linker flags that set the version. Without them the server reports v0.0.0-master, which kubectl and
// Helm reject.
func ldflags(module string) (string, error) {
	version, err := versionOf(module)
	if err != nil {
		return "", err
	}
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			fmt.Sprintf("-X %s.gitVersion=%s", pkg, version[1]),
			fmt.Sprintf("-X %s.gitMajor=%s", pkg, version[2]),
			fmt.Sprintf("-X %s.gitMinor=%s", pkg, version[3]))
	}
	return strings.Join(flags, " "), nil
}
