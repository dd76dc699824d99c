// Package command holds the commands of the stack program, one file each.
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
	"github.com/flotilla-dev/flotilla/tools/stack/internal/parts"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/state"
)

const usage = `usage: stack COMMAND

  up [--services a,b]     start what does not run, apply the samples, wait until they are healthy
  down                    stop everything and remove the data
  status                  show the parts and the sample resources
  logs [--follow] NAME    show a log
  rights [--json]         show what each service may do, how often it did so since the last start from
                          nothing, and each request that was refused
  tools                   build the control plane tools and the NATS server

  stop PART               stop control-plane, nats, mysql or a service; its data stays
  start PART              start it again
  restart PART            stop and start
  kill PART               end nats or a service at once (SIGKILL), as a crash would
`

// errUsage is an error that the usage text answers.
var errUsage = errors.New("no such command")

// app is one run of the program.
type app struct {
	out  io.Writer
	env  *parts.Env
	info func(format string, args ...any)
}

// Main runs a command and returns the exit code: 0 for done, 1 for failed, 2 for wrong usage, 130 for interrupted.
func Main(ctx context.Context, args []string, out, errOut io.Writer) int {
	err := run(ctx, args, out)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		tell(errOut, "%v\n\n%s", err, usage)
		return 2
	case errors.Is(err, errInterrupted):
		tell(errOut, "%v\n", err)
		return 130
	default:
		tell(errOut, "error: %v\n", err)
		return 1
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: none was given", errUsage)
	}
	if args[0] == "--help" || args[0] == "help" {
		tell(out, "%s", usage)
		return nil
	}
	a, err := newApp(out)
	if err != nil {
		return err
	}
	name, args := args[0], args[1:]
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	services := flags.String("services", "", "")
	follow := flags.Bool("follow", false, "")
	asJSON := flags.Bool("json", false, "")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %s: %w", errUsage, name, err)
	}
	args = flags.Args()
	switch name {
	case "up":
		return a.up(ctx, *services)
	case "down":
		return a.down(ctx)
	case "status":
		return a.status(ctx)
	case "tools":
		return a.tools(ctx)
	case "logs":
		return a.logs(ctx, args, *follow)
	case "rights":
		return a.rights(ctx, *asJSON)
	case "start", "stop", "restart", "kill":
		return a.control(ctx, name, args)
	default:
		return fmt.Errorf("%w: %q", errUsage, name)
	}
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
	a.info = func(format string, args ...any) { tell(out, format+"\n", args...) }
	a.env = &parts.Env{Checkout: c, State: s, Tools: tools, Say: a.info}
	return a, nil
}

// infrastructure is what the services need, in the order in which it is started.
func (a *app) infrastructure() (*parts.ControlPlane, parts.Part, *parts.MySQL) {
	return parts.NewControlPlane(a.env), parts.NewNATS(a.env), parts.NewMySQL(a.env)
}

// all returns all parts in the order in which they are started.
func (a *app) all() ([]parts.Part, *parts.MySQL) {
	cp, nats, mysql := a.infrastructure()
	all := []parts.Part{cp, nats, mysql}
	for _, name := range a.env.State.Services {
		all = append(all, parts.NewService(a.env, name, mysql.DSN))
	}
	return all, mysql
}

// tell writes to the terminal. A closed terminal is no reason to stop.
func tell(w io.Writer, format string, args ...any) {
	if _, err := fmt.Fprintf(w, format, args...); err != nil {
		return
	}
}

// seconds is how long something took, for a person.
func seconds(since time.Time) string {
	return fmt.Sprintf("%.1f s", time.Since(since).Seconds())
}

func list(names []string) string {
	return strings.Join(names, ", ")
}
