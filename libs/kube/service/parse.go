package service

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

// commonEnv are the environment variables that other programs read too.
var commonEnv = map[string]string{"kubeconfig": "KUBECONFIG", "nats-url": "NATS_URL"}

const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// invocation is a parsed command line.
type invocation struct {
	options Options
	command string // empty for the service itself
	args    []string
}

// errDone means that the command line requested the help or the version, which has been printed.
var errDone = errors.New("done")

// parse reads the command line and the environment. Flags win over the environment, which wins over defaults.
func parse(spec Spec, args []string, getenv func(string) string, out io.Writer) (invocation, error) {
	inv := invocation{options: Options{service: spec.Name}}
	fs := pflag.NewFlagSet(spec.Name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	inv.options.addFlags(fs, spec.Election)
	version := fs.Bool("version", false, "print the build and exit")
	if spec.Flags != nil {
		spec.Flags(fs)
	}
	own := pflag.NewFlagSet(spec.Name, pflag.ContinueOnError)
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		inv.command, args = args[0], args[1:]
		inv.options.Command = inv.command
		command, ok := spec.Commands[inv.command]
		if !ok {
			return inv, fmt.Errorf("unknown command %q, see --help", inv.command)
		}
		if command.Flags != nil {
			command.Flags(own)
		}
	}
	all := pflag.NewFlagSet(spec.Name, pflag.ContinueOnError)
	all.SetOutput(io.Discard)
	all.AddFlagSet(fs)
	all.AddFlagSet(own)
	err := all.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return inv, errors.Join(help(spec, inv.command, fs, own, out), errDone)
	}
	if err != nil {
		return inv, err
	}
	if *version {
		_, err := fmt.Fprintln(out, spec.Name, telemetry.BuildInfo())
		return inv, errors.Join(err, errDone)
	}
	if err := fromEnvironment(fs, spec.Env, getenv); err != nil {
		return inv, err
	}
	inv.args = all.Args()
	if inv.command == "" && len(inv.args) > 0 {
		return inv, fmt.Errorf("unexpected argument %q, see --help", inv.args[0])
	}
	return inv, inv.options.complete(getenv)
}

// fromEnvironment fills the flags that were not given.
func fromEnvironment(fs *pflag.FlagSet, extra map[string]string, getenv func(string) string) error {
	var errs []error
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "version" || f.Name == "help" {
			return
		}
		for _, name := range []string{envName(f.Name), extra[f.Name], commonEnv[f.Name]} {
			if name == "" || getenv(name) == "" {
				continue
			}
			if err := f.Value.Set(getenv(name)); err != nil {
				// The value may be a secret, and the parser's error repeats it, so the message names only the kind.
				errs = append(errs, fmt.Errorf("--%s (%s) is not a valid %s", f.Name, name, f.Value.Type()))
			}
			f.Changed = true // a configuration file of the service fills the flags that are not set
			return
		}
	})
	return errors.Join(errs...)
}

// complete sets the options that follow from the pod.
func (o *Options) complete(getenv func(string) string) error {
	if o.LeaderElectionNamespace != "" || !o.LeaderElect {
		return nil
	}
	if ns := getenv("POD_NAMESPACE"); ns != "" {
		o.LeaderElectionNamespace = ns
		return nil
	}
	content, err := os.ReadFile(podNamespaceFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil // not in a pod; Validate requires the flag
	}
	if err != nil {
		return settingError("leader-election-namespace", "cannot be read from the pod: %w", err)
	}
	o.LeaderElectionNamespace = strings.TrimSpace(string(content))
	return nil
}

func help(spec Spec, command string, fs, own *pflag.FlagSet, out io.Writer) error {
	if command == "" || !own.HasFlags() {
		return usage(spec, fs, out)
	}
	_, err := fmt.Fprintf(out, "Usage: %s %s [FLAG...]\n\n%s\n\nFlags:\n%s\nFlags of the service (each also from the environment, --nats-url as %s):\n%s",
		spec.Name, command, spec.Commands[command].Help, own.FlagUsages(), envName("nats-url"), fs.FlagUsages())
	return err
}

func usage(spec Spec, fs *pflag.FlagSet, out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s [COMMAND] [FLAG...]\n", spec.Name)
	if len(spec.Commands) > 0 {
		b.WriteString("\nCommands (none runs the service):\n")
		for _, name := range slices.Sorted(maps.Keys(spec.Commands)) {
			fmt.Fprintf(&b, "  %-12s %s\n", name, spec.Commands[name].Help)
		}
	}
	fmt.Fprintf(&b, "\nFlags (each also from the environment, --nats-url as %s):\n%s", envName("nats-url"), fs.FlagUsages())
	_, err := io.WriteString(out, b.String())
	return err
}
