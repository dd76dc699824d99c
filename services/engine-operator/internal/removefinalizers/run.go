package removefinalizers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/leader"
	"github.com/flotilla-dev/flotilla/libs/kube/service"
)

// LeaseName is the operator's leader election Lease.
const LeaseName = "engine-operator.flotilla.dev"

// Env is the environment of the command.
type Env struct {
	// Client reads from the API server, never from a cache.
	Client client.Client
	Clock  clock.Clock
	// Namespaces are the watched namespaces; empty means all.
	Namespaces []string
	// LeaseNamespace is the namespace of the operator's Lease.
	LeaseNamespace string
}

// Command is "engine-operator remove-finalizers".
type Command struct {
	// Force runs the command even if an operator is the leader.
	Force bool
	// DryRun counts the objects without changing them.
	DryRun bool
}

// Commands returns the commands for [service.Spec].
func Commands() map[string]service.Command {
	c := &Command{}
	return map[string]service.Command{"remove-finalizers": {
		Help:  "remove the operator's finalizers from all objects before it is uninstalled",
		Flags: c.AddFlags,
		Run: func(ctx context.Context, o service.Options, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q, see --help", args[0])
			}
			cfg, err := o.RESTConfig()
			if err != nil {
				return err
			}
			scheme := runtime.NewScheme()
			if err := clientgoscheme.AddToScheme(scheme); err != nil {
				return fmt.Errorf("build the scheme: %w", err)
			}
			cl, err := client.New(cfg, client.Options{Scheme: scheme})
			if err != nil {
				return fmt.Errorf("create client: %w", err)
			}
			namespaces, err := o.Namespaces(ctx)
			if errors.Is(err, service.ErrNoNamespace) { // a shard without namespaces can be uninstalled
				_, err = fmt.Fprintln(os.Stdout, "Nothing to do:", err)
				return err
			}
			if err != nil {
				return err
			}
			env := Env{Client: cl, Clock: clock.RealClock{}, Namespaces: namespaces, LeaseNamespace: o.LeaderElectionNamespace}
			return c.Run(ctx, env, os.Stdout)
		},
	}}
}

// AddFlags adds the flags of the command.
func (c *Command) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&c.Force, "force", false, "run even if an operator is the leader")
	fs.BoolVar(&c.DryRun, "dry-run", false, "count the objects without changing them")
}

// Run removes the finalizers and prints the counts. The error reports objects that still have one.
func (c *Command) Run(ctx context.Context, env Env, out io.Writer) error {
	if !c.Force && !c.DryRun {
		if err := checkLeader(ctx, env); err != nil {
			return err
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "KIND\t%s\tOF THEM TERMINATING\n", map[bool]string{false: "RELEASED", true: "WOULD BE RELEASED"}[c.DryRun])
	remaining := 0
	var failed []string
	for _, k := range kinds {
		r := &runner{client: env.Client, kind: k.kind, finalizer: k.finalizer, dryRun: c.DryRun, failed: map[types.UID]bool{}}
		counts, err := r.run(ctx, env.Namespaces)
		failed = append(failed, counts.Failed...)
		if errors.Is(err, errNotInstalled) { // without the CRD, no object has the finalizer
			fmt.Fprintf(w, "%s\tskipped: its CRD is not installed\t\n", k.kind)
			continue
		}
		if err != nil {
			return errors.Join(printFailed(w, failed), explain(err))
		}
		fmt.Fprintf(w, "%s\t%d\t%d\n", k.kind, counts.Released, counts.Terminating)
		remaining += counts.Remaining
	}
	if err := printFailed(w, failed); err != nil {
		return err
	}
	return incomplete(len(failed), remaining)
}

// printFailed prints the objects that keep the finalizer, after the counts.
func printFailed(w *tabwriter.Writer, failed []string) error {
	if len(failed) > 0 {
		fmt.Fprintln(w)
	}
	for _, line := range failed {
		fmt.Fprintln(w, line)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

func incomplete(failed, remaining int) error {
	var texts []string
	if failed > 0 {
		texts = append(texts, fmt.Sprintf("patches of %s were rejected", objects(failed)))
	}
	if remaining > 0 {
		texts = append(texts, objects(remaining)+" got the finalizer again while it was removed; is an operator running?")
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

// checkLeader returns an error while an operator renews the Lease.
func checkLeader(ctx context.Context, env Env) error {
	if env.LeaseNamespace == "" {
		return errors.New("--leader-election-namespace (FLOTILLA_LEADER_ELECTION_NAMESPACE) is required to check for a running operator, unless --force is set")
	}
	identity, err := leader.Find(ctx, env.Client, client.ObjectKey{Namespace: env.LeaseNamespace, Name: LeaseName}, env.Clock)
	if err != nil {
		return explain(fmt.Errorf("%w (not required with --force)", err))
	}
	if identity == "" {
		return nil
	}
	return fmt.Errorf("the engine operator %s is running and would add the finalizers again: stop it first (its Lease is %s/%s), or set --force", identity, env.LeaseNamespace, LeaseName)
}

// explain adds a remedy to an error of the API server.
func explain(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w (config/rbac/operator_role.yaml grants the required permissions)", err)
	}
	return err
}
