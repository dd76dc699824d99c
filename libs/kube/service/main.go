package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

// Main runs the service, or one of its commands, and exits the process: 0 after
// --help, --version, a command that succeeded or a signal; 1 after an error, which
// is one line on stderr.
func Main(spec Spec) {
	ctx := ctrl.SetupSignalHandler()
	err := handleRestart(ctx, execute(ctx, spec, os.Args[1:], os.Stdout), restart)
	if err != nil {
		report(os.Stderr, spec.Name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func execute(ctx context.Context, spec Spec, args []string, out io.Writer) error {
	spec.Commands = withHealthcheck(spec.Commands)
	inv, err := parse(spec, args, os.Getenv, out)
	if errors.Is(err, errDone) {
		return nil
	}
	if err != nil {
		return err
	}
	log, err := newLogger(inv.options)
	if err != nil {
		return err
	}
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	ctx = logr.NewContext(ctx, log)
	if command, ok := spec.Commands[inv.command]; ok {
		if spec.Validate != nil {
			if err := spec.Validate(inv.options); err != nil {
				return err
			}
		}
		return command.Run(ctx, inv.options, inv.args)
	}
	return serve(ctx, spec, inv.options, log)
}

func newLogger(o Options) (logr.Logger, error) {
	if _, err := telemetry.NewLogger(io.Discard, o.LogFormat, "info"); err != nil {
		return logr.Discard(), settingError("log-format", "%w", err)
	}
	log, err := telemetry.NewLogger(os.Stderr, o.LogFormat, o.LogLevel)
	if err != nil {
		return logr.Discard(), settingError("log-level", "%w", err)
	}
	return log, nil
}

// errRestart means that the run ended for a transient reason: another process
// acquired the Lease, or the API server became unavailable.
var errRestart = errors.New("restart")

// handleRestart restarts the process if the error of a run requires it. A signal that arrived meanwhile stops it instead: a
// new process would not know of the signal.
func handleRestart(ctx context.Context, err error, restart func() error) error {
	if !errors.Is(err, errRestart) {
		return err
	}
	if ctx.Err() == nil {
		return restart()
	}
	return nil
}

// restart replaces the process with a fresh one. After a lost Lease controllers
// may still be between two steps; a new process is the only clean state, and it
// waits for the API server as at any other start.
func restart() error {
	path, err := os.Executable()
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	return fmt.Errorf("restart: %w", syscall.Exec(path, os.Args, os.Environ())) //nolint:gosec // the program itself
}

// report prints an error in one line.
func report(w io.Writer, name string, err error) {
	text := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	fmt.Fprintf(w, "%s: %s\n", name, text) // without stderr the exit code is all that is left
}

func serve(ctx context.Context, spec Spec, o Options, log logr.Logger) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if spec.Validate != nil {
		if err := spec.Validate(o); err != nil {
			return err
		}
	}
	limitMemory(memlimit.FromCgroup, log)
	stopTracing, err := telemetry.SetupTracing(ctx, spec.Name)
	if err != nil {
		return err
	}
	p := &process{spec: spec, options: o, log: log, clock: clock.RealClock{}, health: newHealth()}
	p.atExit(stopTracing)
	telemetry.RegisterBuildInfo(metrics.Registry, spec.Name)
	defer p.close(context.WithoutCancel(ctx))
	return p.run(ctx)
}

// memoryRatio is the share of the container's memory limit that the Go runtime may use. The rest is for memory that the
// runtime does not count.
const memoryRatio = 0.9

// limitMemory sets the runtime's memory limit from that of the container, so that the garbage collector runs more often
// near the limit instead of the kernel terminating the process. The variables GOMEMLIMIT and AUTOMEMLIMIT override it.
// Without a limit it changes nothing.
func limitMemory(provider memlimit.Provider, log logr.Logger) {
	limit, err := memlimit.Set(memlimit.WithProvider(provider), memlimit.WithRatio(memoryRatio),
		memlimit.WithLogger(slog.New(logr.ToSlogHandler(log.V(1)))))
	switch {
	case err != nil:
		log.Info("The memory limit is unknown, so it is not enforced", "error", err.Error())
	case limit < math.MaxInt64:
		log.Info("Limited memory", "bytes", limit)
	}
}
