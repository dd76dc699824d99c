package cli

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/apiclient"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/printer"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statusclient"
)

// Environment variables that set the defaults of flags.
const (
	envStatusURL = "FLOTILLA_STATUS_URL"
	envStatusCA  = "FLOTILLA_STATUS_CA_FILE"
	envAccount   = "FLOTILLA_STATUS_SERVICE_ACCOUNT"
)

// requestTimeout is how long a command waits for the status API before it continues without it.
const requestTimeout = 15 * time.Second

// App is shared by all commands.
type App struct {
	Streams genericiooptions.IOStreams
	Clock   clock.WithTicker
	// Browse opens an address in the user's browser. The command calls cleanup before it ends.
	Browse func(ctx context.Context, address string) (cleanup func(), err error)
	// Checked, if set, receives the missing state after each check of a waiting command; for tests.
	Checked func(missing string)

	config *genericclioptions.ConfigFlags
	status apiclient.Options
}

const long = `Shows the state of Flotilla's resources, its causes and its history; waits for, pauses and stops resources, and approves upgrades.

Resources are written kind/name or kind name, as in "superset/main" or "fireng shop". Kinds are superset,
fireboltinstance (fire), fireboltengine (fireng) and fireboltengineclass (firengc); plurals work too.

status, wait, pause, resume, stop, start and approve-upgrade need the Kubernetes API only. why and history query the
status aggregator and fall back to the Kubernetes API; events and page need the aggregator. It is reached
through the API server, or at --status-url.

In addition to the flags below, kubectl's other connection flags work too: --server, --cluster, --user, --token and so on.`

const examples = `  # Everything in this namespace, then in all of them
  kubectl flotilla status
  kubectl flotilla status -A

  # One Superset with its components and conditions, and why it is in its state
  kubectl flotilla status superset/main
  kubectl flotilla why superset/main

  # Change it, then wait until the change is deployed
  kubectl patch superset main --type=merge -p '{"spec":{"image":{"tag":"6.1.0"}}}'
  kubectl flotilla approve-upgrade main
  kubectl flotilla wait superset/main --for=deployed-version=6.1.0 --timeout=15m

  # Live events of all namespaces
  kubectl flotilla events -f -A`

// New returns the command kubectl-flotilla.
func New(app *App) *cobra.Command {
	app.config = genericclioptions.NewConfigFlags(true).WithDiscoveryQPS(50).WithDiscoveryBurst(300)
	root := &cobra.Command{
		Use:           "kubectl-flotilla",
		Short:         "Inspect and control resources managed by Flotilla",
		Long:          long,
		Example:       examples,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl flotilla"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          unknownCommand,

		SuggestionsMinimumDistance: 2,
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(app.Streams.In)
	root.SetOut(app.Streams.Out)
	root.SetErr(app.Streams.ErrOut)
	app.connectionFlags(root)
	root.AddGroup(&cobra.Group{ID: groupInspect, Title: "Inspect:"}, &cobra.Group{ID: groupControl, Title: "Control:"})
	for group, commands := range map[string][]*cobra.Command{
		groupInspect: {app.statusCommand(), app.whyCommand(), app.historyCommand(), app.eventsCommand(), app.pageCommand()},
		groupControl: append(app.intentCommands(), app.waitCommand(), app.approveCommand()),
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

// unknownCommand rejects an unknown command and suggests similar ones.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if suggestions := c.SuggestionsFor(args[0]); len(suggestions) > 0 {
		slices.Sort(suggestions) // cobra sorts the commands only when they are listed
		hint = ", did you mean " + strings.Join(suggestions, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), hint)
}

const (
	groupInspect = "inspect"
	groupControl = "control"
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

// apiFlags adds the flags of commands that use the status aggregator.
func (a *App) apiFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&a.status.URL, "status-url", os.Getenv(envStatusURL),
		"address of the status aggregator's API; empty means through the Kubernetes API server ("+envStatusURL+")")
	flags.StringVar(&a.status.CAFile, "status-ca-file", os.Getenv(envStatusCA),
		"file with the trusted certificates of that address; empty means the system's ("+envStatusCA+")")
	flags.StringVar(&a.status.Namespace, "flotilla-namespace", apiclient.DefaultNamespace, "namespace of the Service "+apiclient.Service)
	flags.StringVar(&a.status.ServiceAccount, "service-account", os.Getenv(envAccount),
		"ServiceAccount, [NAMESPACE/]NAME, to authenticate as; required if you have no token, for example with client certificates ("+envAccount+")")
	flags.StringVar(&a.status.Audience, "audience", "", "audience of that ServiceAccount's token, if the aggregator requires one")
}

func (a *App) cluster() (*kinds.Cluster, error) { return kinds.New(a.config) }

// open prepares the connection to the status API.
func (a *App) open(ctx context.Context, cluster *kinds.Cluster) (*apiclient.API, error) {
	o := a.status
	o.DefaultNamespace, o.Clock = cluster.Namespace, a.Clock
	return apiclient.Open(ctx, cluster.Config, o)
}

// client returns a client of the status API.
func (a *App) client(ctx context.Context, cluster *kinds.Cluster) (*statusclient.Client, error) {
	api, err := a.open(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return statusclient.New(api.Base, api.Transport), nil
}

// notify writes a line for users to the error output.
func (a *App) notify(format string, args ...any) {
	fmt.Fprintln(a.Streams.ErrOut, printer.Sanitize(fmt.Sprintf(format, args...)))
}

func (a *App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Show the version of the plugin",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			version, revision := "(unknown)", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				version, revision = built(info)
			}
			_, err := fmt.Fprintf(a.Streams.Out, "kubectl-flotilla %s%s, %s, %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			if err != nil {
				return fmt.Errorf("write the version: %w", err)
			}
			return nil
		},
	}
}

// built returns the version of a binary: its module version, and the commit if it is recorded.
func built(info *debug.BuildInfo) (version, revision string) {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = " (" + s.Value[:min(12, len(s.Value))] + ")"
		}
	}
	return info.Main.Version, revision
}
