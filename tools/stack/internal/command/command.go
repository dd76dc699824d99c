// Package command implements the commands of the stack program, one file each.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/checkout"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/node"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/node/sandbox"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/state"
)

const usage = `usage: stack COMMAND

  up [--services a,b]     start the components that do not run, apply the samples, wait until they are healthy
  up --node real          start a control plane with one real node and real pods (Linux, root), NATS and MySQL in
                          it, the services by their charts and images, and Apache Superset
     --bare               start only the node
     --images DIR         import these tars of images instead of building images, and install no Superset
     --samples DIR        apply these manifests at the end, instead of deploy/real-node/superset.yaml
  down                    stop everything and remove the data
  status                  show the components and the sample resources
  logs [--follow] NAME    show a log
  mysql [-- ARGS...]      open the database in the client of MySQL or MariaDB, with these arguments
  permissions [--json]    show the permissions of each service, how often it used them since the control plane
                          was created, and each denied request
  tools [--node real]     build the control plane tools and the NATS server, fetch Envoy; with --node real
                          also the programs of a real node
  import FILE...          import images into the real node: tars or directories of tars
  install --kubeconfig F  install NATS, MySQL and the services (--services a,b) by their charts into another cluster
                          whose nodes have the images, for example of kind

  stop PART               stop control-plane, nats, mysql or a service; its data stays
  start PART              start it again
  restart PART            stop and start
  kill PART               kill nats or a service (SIGKILL), like a crash
`

// errUsage makes Main print the usage text.
var errUsage = errors.New("invalid command line")

// app is one run of the program.
type app struct {
	out  io.Writer
	env  *components.Env
	node *components.RealNode
	info func(format string, args ...any)
}

// Main runs a command and returns the exit code: 0 for success, 1 for failure, 2 for wrong usage, 130 for an interrupt.
func Main(ctx context.Context, args []string, out, stderr io.Writer) int {
	err := run(ctx, args, out)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		printf(stderr, "%v\n\n%s", err, usage)
		return 2
	case errors.Is(err, errInterrupted):
		printf(stderr, "%v\n", err)
		return 130
	default:
		printf(stderr, "error: %v\n", err)
		return 1
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: no command", errUsage)
	}
	if args[0] == "--help" || args[0] == "help" {
		printf(out, "%s", usage)
		return nil
	}
	if args[0] == "sandbox" && len(args) == 2 { // the real node's first process, which needs no checkout
		return sandbox.Run(ctx, args[1], out)
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.onNode { // before any file is read or created
		if err := node.CheckSupported(); err != nil {
			return err
		}
	}
	a, err := newApp(out)
	if err != nil {
		return err
	}
	return a.do(ctx, o)
}

func (a *app) do(ctx context.Context, o options) error {
	switch o.name {
	case "up":
		if o.onNode {
			return a.guarded(ctx, func() error { return a.startNode(ctx, o.services, o.node) })
		}
		return a.up(ctx, o.services)
	case "down":
		return a.down(ctx)
	case "status":
		return a.status(ctx)
	case "tools":
		return a.tools(ctx, o.onNode)
	case "import":
		return a.importImages(ctx, o.args)
	case "install":
		return a.install(ctx, o.services, o.kubeconfig)
	case "logs":
		return a.logs(ctx, o.args, o.follow)
	case "mysql":
		return a.mysql(ctx, o.args)
	case "permissions":
		return a.permissions(ctx, o.asJSON)
	case "start", "stop", "restart", "kill":
		return a.control(ctx, o.name, o.args)
	default:
		return fmt.Errorf("%w: unknown command %q", errUsage, o.name)
	}
}

// options are a command with its flags.
type options struct {
	name       string
	args       []string
	services   string
	kubeconfig string // of another cluster
	onNode     bool   // a real one
	node       nodeOptions
	follow     bool
	asJSON     bool
}

func parse(args []string) (options, error) {
	o := options{name: args[0]}
	flags := flag.NewFlagSet(o.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.services, "services", "", "")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "")
	nodes := flags.String("node", simulated, "")
	flags.BoolVar(&o.node.bare, "bare", false, "")
	flags.StringVar(&o.node.images, "images", "", "")
	flags.StringVar(&o.node.samples, "samples", "", "")
	flags.BoolVar(&o.follow, "follow", false, "")
	flags.BoolVar(&o.asJSON, "json", false, "")
	if err := flags.Parse(args[1:]); err != nil {
		return o, fmt.Errorf("%w: %s: %w", errUsage, o.name, err)
	}
	if *nodes != simulated && *nodes != realNode {
		return o, fmt.Errorf("%w: --node is %s or %s", errUsage, simulated, realNode)
	}
	o.args, o.onNode = flags.Args(), *nodes == realNode
	switch o.name {
	case "up", "down", "status", "tools", "install", "permissions":
		if len(o.args) > 0 {
			return o, fmt.Errorf("%w: %s: unexpected argument %q", errUsage, o.name, o.args[0])
		}
	}
	return o, nil
}

func newApp(out io.Writer) (*app, error) {
	c, err := checkout.Find()
	if err != nil {
		return nil, err
	}
	s, err := state.Load(c.Local("state.json"))
	if err != nil {
		return nil, err
	}
	tools, err := controlplane.At(c.Path("tools", "controlplane"))
	if err != nil {
		return nil, err
	}
	a := &app{out: out}
	a.info = func(format string, args ...any) { printf(out, format+"\n", args...) }
	a.env = &components.Env{Checkout: c, State: s, Tools: tools, Logf: a.info}
	a.node, err = components.NewRealNode(a.env)
	return a, err
}

// infrastructure returns the components that the services depend on, in start order.
func (a *app) infrastructure() (*components.ControlPlane, components.Component, *components.MySQL) {
	return components.NewControlPlane(a.env), components.NewNATS(a.env), components.NewMySQL(a.env)
}

// all returns all components in their start order.
func (a *app) all() ([]components.Component, *components.MySQL) {
	if a.env.State.RealNode {
		return []components.Component{a.node}, components.NewMySQL(a.env)
	}
	cp, nats, mysql := a.infrastructure()
	all := []components.Component{cp, nats, mysql}
	for _, name := range a.env.State.Services {
		all = append(all, components.NewService(a.env, name, mysql.DSN))
	}
	return all, mysql
}

// printf writes to the terminal. It ignores write errors: a closed terminal does not stop the command.
func printf(w io.Writer, format string, args ...any) {
	if _, err := fmt.Fprintf(w, format, args...); err != nil {
		return
	}
}

// seconds formats the time since a start.
func seconds(since time.Time) string {
	return fmt.Sprintf("%.1f s", time.Since(since).Seconds())
}

func list(names []string) string {
	return strings.Join(names, ", ")
}
