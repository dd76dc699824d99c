package service

import (
	"context"
	"errors"
	"slices"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flotilla-dev/flotilla/libs/bus"
)

// Spec declares a service.
type Spec struct {
	// Name is the binary's name, its field manager, its observer name on the bus and,
	// with the suffix ".flotilla.dev", its leader election Lease.
	Name string
	// AddToScheme registers the kinds that the service uses. The built-in Kubernetes kinds are always registered.
	AddToScheme []func(*runtime.Scheme) error
	// Flags adds the service's own flags. Each has the environment variable
	// FLOTILLA_<UPPER_SNAKE> as fallback, like the common ones.
	Flags func(*pflag.FlagSet)
	// Election is the default of the flags --leader-election-...; zero means [DefaultElection].
	Election Election
	// Env names one more environment variable for a flag, for example {"mysql-dsn": "MYSQL_DSN"}.
	Env map[string]string
	// Validate checks the service's own flags. The error is one line that names the flag.
	Validate func(Options) error
	// Prerequisites returns the resources that the service watches; nil means that it waits for
	// none. It is called when the settings are known.
	Prerequisites func() []Prerequisite
	// Setup registers the controllers. When it is called, the API server responds and the
	// Prerequisites are met.
	Setup func(ctx context.Context, rt *Runtime) error
	// Commands are run by the first argument instead of the service.
	Commands map[string]Command
	// CacheOptions and ManagerOptions adjust the options that follow from the common flags.
	CacheOptions   func(*cache.Options)
	ManagerOptions func(*ctrl.Options)
}

// Command is a subcommand, for example "migrate" or "uninstall".
type Command struct {
	Help string // one line for --help
	// Flags adds the command's own flags; nil means that it has none. Their names must differ
	// from those of the service's flags.
	Flags func(*pflag.FlagSet)
	// Run does the work; ctx carries the logger and ends on SIGTERM. An error is printed in one line, exit code 1.
	Run func(ctx context.Context, opts Options, args []string) error
}

// Runtime holds the manager and the other dependencies of [Spec.Setup].
type Runtime struct {
	ctrl.Manager
	Options Options
	Log     logr.Logger
	// Bus and Observations are nil when no bus is configured.
	// The methods of a nil *bus.ObservationPublisher do nothing.
	Bus          *bus.Conn
	Observations *bus.ObservationPublisher
	Clock        clock.WithTicker
	// Instance names this process: the pod's name in a cluster, else the host's.
	Instance string

	closers []func(context.Context) error
}

// AtExit registers a function that runs after the manager has returned. A runnable cannot close what the controllers use: the
// manager ends those of all replicas before the controllers.
func (r *Runtime) AtExit(f func(context.Context) error) { r.closers = append(r.closers, f) }

// Close calls the functions of AtExit, newest first. [Main] calls it within the seconds that are left of a shutdown.
func (r *Runtime) Close(ctx context.Context) error {
	var errs []error
	for _, f := range slices.Backward(r.closers) {
		errs = append(errs, f(ctx))
	}
	r.closers = nil
	return errors.Join(errs...)
}
