package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/reach"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/show"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statusclient"
)

// Environment variables that stand in for flags.
const (
	envStatusURL = "FLOTILLA_STATUS_URL"
	envStatusCA  = "FLOTILLA_STATUS_CA_FILE"
	envAccount   = "FLOTILLA_STATUS_SERVICE_ACCOUNT"
)

// askTimeout is how long a command waits for an answer of the status API before it goes on without.
const askTimeout = 15 * time.Second

// App is what all commands share.
type App struct {
	Streams genericiooptions.IOStreams
	Clock   clock.WithTicker
	// Browse opens an address in the user's browser.
	Browse func(ctx context.Context, address string) error
	// Checked, if set, is told after each look of a command that waits what is still missing; for tests.
	Checked func(missing string)

	config *genericclioptions.ConfigFlags
	status reach.Options
}

const long = `Shows how Flotilla's resources are, why, and since when; waits for them, pauses and stops them, and approves upgrades.

Resources are written kind/name or kind name, as in "superset/main" or "fireng shop". Kinds are superset,
fireboltinstance (fire), fireboltengine (fireng) and fireboltengineclass (firengc); plurals work too.

status, wait, pause, resume, stop, start and approve-upgrade need the Kubernetes API only. why and history ask the
status aggregator and make do with the Kubernetes API without it; events and page need the aggregator. It is reached
through the API server, or at --status-url.

Beside the flags below, kubectl's other connection flags work too: --server, --cluster, --user, --token and so on.`

const examples = `  # Everything in this namespace, then in all of them
  kubectl flotilla status
  kubectl flotilla status -A

  # One Superset with its components and conditions, and why it is as it is
  kubectl flotilla status superset/main
  kubectl flotilla why superset/main

  # Change it, then wait until the change is through
  kubectl patch superset main --type=merge -p '{"spec":{"image":{"tag":"6.1.0"}}}'
  kubectl flotilla approve-upgrade main
  kubectl flotilla wait superset/main --for=deployed-version=6.1.0 --timeout=15m

  # What happens right now, everywhere
  kubectl flotilla events -f -A`

// New returns the command kubectl-flotilla.
func New(app *App) *cobra.Command {
	app.config = genericclioptions.NewConfigFlags(true).WithDiscoveryQPS(50).WithDiscoveryBurst(300)
	root := &cobra.Command{
		Use:           "kubectl-flotilla",
		Short:         "Look after Superset and Firebolt resources that Flotilla manages",
		Long:          long,
		Example:       examples,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl flotilla"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          mistyped,

		SuggestionsMinimumDistance: 2,
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(app.Streams.In)
	root.SetOut(app.Streams.Out)
	root.SetErr(app.Streams.ErrOut)
	app.connectionFlags(root)
	root.AddGroup(&cobra.Group{ID: groupLook, Title: "Look:"}, &cobra.Group{ID: groupAct, Title: "Act:"})
	for group, commands := range map[string][]*cobra.Command{
		groupLook: {app.statusCommand(), app.whyCommand(), app.historyCommand(), app.eventsCommand(), app.pageCommand()},
		groupAct:  append(app.intentCommands(), app.waitCommand(), app.approveCommand()),
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	root.AddCommand(app.versionCommand())
	root.InitDefaultCompletionCmd()
	app.addKubectlCompletion(root)
	return root
}

// mistyped refuses what is no command, and says what may have been meant.
func mistyped(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		slices.Sort(near) // cobra sorts the commands only when somebody lists them
		hint = ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), hint)
}

const (
	groupLook = "look"
	groupAct  = "act"
)

func (a *App) connectionFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	a.config.AddFlags(flags)
	for _, name := range []string{ // they work as in kubectl, but would fill the help of every command
		"cache-dir", "certificate-authority", "client-certificate", "client-key", "cluster", "token", "tls-server-name", "user",
		"server", "insecure-skip-tls-verify", "as-group", "as-uid", "as-user-extra", "disable-compression",
		"proxy-url",
	} {
		if f := flags.Lookup(name); f != nil {
			f.Hidden = true
		}
	}
	if err := root.RegisterFlagCompletionFunc("namespace", a.completeNamespaces); err != nil {
		fmt.Fprintln(a.Streams.ErrOut, "warning:", err) // completion is a convenience
	}
}

// apiFlags are those of the commands that ask the status aggregator.
func (a *App) apiFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&a.status.URL, "status-url", os.Getenv(envStatusURL),
		"address of the status aggregator's API; without it the way is through the Kubernetes API server ("+envStatusURL+")")
	flags.StringVar(&a.status.CAFile, "status-ca-file", os.Getenv(envStatusCA),
		"file with the certificates to trust there in place of the system's ("+envStatusCA+")")
	flags.StringVar(&a.status.Namespace, "flotilla-namespace", reach.DefaultNamespace, "namespace of the Service "+reach.Service)
	flags.StringVar(&a.status.ServiceAccount, "service-account", os.Getenv(envAccount),
		"ask as this ServiceAccount, [NAMESPACE/]NAME; needed where you have no token of your own, as with client certificates ("+envAccount+")")
	flags.StringVar(&a.status.Audience, "audience", "", "audience of that ServiceAccount's token, where the aggregator demands one")
}

func (a *App) cluster() (*kinds.Cluster, error) { return kinds.New(a.config) }

// open prepares the way to the status API.
func (a *App) open(ctx context.Context, cluster *kinds.Cluster) (*reach.API, error) {
	o := a.status
	o.Home, o.Clock = cluster.Namespace, a.Clock
	return reach.Open(ctx, cluster.Config, o)
}

// client returns a client of the status API.
func (a *App) client(ctx context.Context, cluster *kinds.Cluster) (*statusclient.Client, error) {
	api, err := a.open(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return statusclient.New(api.Base, api.Transport), nil
}

// say writes a line for people beside the output proper.
func (a *App) say(format string, args ...any) {
	fmt.Fprintln(a.Streams.ErrOut, show.Harmless(fmt.Sprintf(format, args...)))
}
