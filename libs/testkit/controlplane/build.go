package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Progress is told what happens, one line at a time.
type Progress func(format string, args ...any)

// Build builds what is missing. Processes that build at the same time take turns, so each program is built once.
func Build(ctx context.Context, module string, say Progress) (Tools, error) {
	tools, err := At(module)
	if err != nil {
		return Tools{}, err
	}
	if len(tools.Missing()) == 0 {
		return tools, nil
	}
	if err := os.MkdirAll(tools.Dir, 0o755); err != nil { //nolint:gosec // programs are not secret
		return Tools{}, fmt.Errorf("create the tools folder: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(tools.Dir, ".lock"), say)
	if err != nil {
		return Tools{}, err
	}
	err = tools.build(ctx, module, say)
	return tools, errors.Join(err, unlock())
}

func (t Tools) build(ctx context.Context, module string, say Progress) error {
	missing := map[string]bool{}
	for _, name := range t.Missing() {
		missing[name] = true
	}
	if len(missing) == 0 {
		return nil
	}
	flags, err := ldflags(module)
	if err != nil {
		return err
	}
	say("building %d control plane tools into %s (the first time takes minutes)", len(missing), t.Dir)
	done := 0
	for _, p := range Programs {
		if !missing[p.Name] {
			continue
		}
		done++
		say("  [%d/%d] %s", done, len(missing), p.Name)
		start := time.Now() //nolint:forbidigo // progress for a person
		if err := t.buildOne(ctx, module, p, flags); err != nil {
			return err
		}
		say("  [%d/%d] %s: %.0f s", done, len(missing), p.Name, time.Since(start).Seconds())
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
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are this package's own
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	// A cancelled build must not leave compilers behind, so the whole group is signalled.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes v((\d+)\.(\d+)\.\S+)`)

// ldflags stamps the version. Without it the server calls itself v0.0.0-master, which kubectl and Helm refuse.
func ldflags(module string) (string, error) {
	data, err := os.ReadFile(filepath.Join(module, "go.mod")) //nolint:gosec // the checkout's own file
	if err != nil {
		return "", fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	m := kubernetesVersion.FindStringSubmatch(string(data))
	if m == nil {
		return "", fmt.Errorf("no k8s.io/kubernetes version in %s/go.mod", module)
	}
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			fmt.Sprintf("-X %s.gitVersion=v%s", pkg, m[1]),
			fmt.Sprintf("-X %s.gitMajor=%s", pkg, m[2]),
			fmt.Sprintf("-X %s.gitMinor=%s", pkg, m[3]))
	}
	return strings.Join(flags, " "), nil
}

// lock waits for an exclusive lock on the file. It goes with the process, so a killed build blocks nobody.
func lock(ctx context.Context, path string, say Progress) (func() error, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // inside the cache folder
	if err != nil {
		return nil, fmt.Errorf("open the lock of the tools folder: %w", err)
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock the tools folder: %w", err), file.Close())
		}
		if !told {
			say("waiting for another build of the control plane tools")
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-tick.C:
		}
	}
}
