package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/retry"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/intent"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
)

// Values of --dry-run.
const (
	dryNone   = "none"
	dryClient = "client"
	dryServer = "server"
)

type writeOptions struct {
	dryRun  string
	wait    bool
	timeout time.Duration
}

var intentHelp = map[intent.Verb]struct{ short, long string }{
	intent.Pause: {
		"Pause reconciliation: the operator changes nothing",
		`Pauses reconciliation until "resume"; the operator still updates the status. The command sets the annotation
operator-command to Paused; on a stopped Superset it sets spec.suspend, since the annotation is in use.`,
	},
	intent.Resume: {
		"Resume reconciliation",
		`Removes a pause, set by the annotation operator-command or by spec.suspend. It never removes a stop.`,
	},
	intent.Stop: {
		"Scale resources to zero pods and keep everything else",
		`Scales the resource to zero pods. A running task of a Superset finishes first, an engine drains its
queries, an instance waits for its engines. Services, configuration and volumes stay. The command sets the annotation
operator-command to Stopped.`,
	},
	intent.Start: {
		"Start stopped resources",
		`Removes a stop. It never removes a pause.`,
	},
}

func (a *App) intentCommands() []*cobra.Command {
	var out []*cobra.Command
	for _, verb := range []intent.Verb{intent.Pause, intent.Resume, intent.Stop, intent.Start} {
		out = append(out, a.intentCommand(verb))
	}
	return out
}

func (a *App) intentCommand(verb intent.Verb) *cobra.Command {
	var o writeOptions
	c := &cobra.Command{
		Use:   string(verb) + " KIND/NAME ...",
		Short: intentHelp[verb].short,
		Long:  intentHelp[verb].long + "\n\nThe command is idempotent. With --wait the command ends when the operator reports " + verb.Criterion().String() + ".",
		Example: fmt.Sprintf("  kubectl flotilla %[1]s superset/main\n  kubectl flotilla %[1]s fireng shop archive --wait --timeout=10m\n"+
			"  kubectl flotilla %[1]s superset/main --dry-run=server", verb),
		ValidArgsFunction: a.completeResources,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runIntent(cmd.Context(), verb, o, args)
		},
	}
	c.Flags().BoolVar(&o.wait, "wait", false, "wait until the operator reports it")
	c.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait")
	dryRunFlag(c, &o.dryRun)
	return c
}

func dryRunFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "dry-run", dryNone, "none, client (print what would be written) or server (validate on the API server without writing)")
	values := []string{dryNone, dryClient, dryServer}
	if err := c.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		fmt.Fprintln(c.ErrOrStderr(), "warning:", err) // completion is a convenience
	}
}

// runIntent processes all resources even if one is rejected.
func (a *App) runIntent(ctx context.Context, verb intent.Verb, o writeOptions, args []string) error {
	if err := oneOf(o.dryRun, dryNone, dryClient, dryServer); err != nil {
		return fmt.Errorf("--dry-run: %w", err)
	}
	cluster, err := a.cluster()
	if err != nil {
		return err
	}
	targets, err := cluster.Targets(args, "")
	if err != nil {
		return err
	}
	var failed []error
	var changed []kinds.Target
	for _, t := range targets {
		if err := a.applyIntent(ctx, cluster, verb, o, t); err != nil {
			failed = append(failed, err)
			continue
		}
		changed = append(changed, t)
	}
	if o.wait && o.dryRun == dryNone && len(changed) > 0 {
		failed = append(failed, a.waitAll(ctx, cluster, changed, verb.Criterion(), o.timeout))
	}
	return errors.Join(failed...)
}

// applyIntent applies the change and decides again after a conflict.
func (a *App) applyIntent(ctx context.Context, cluster *kinds.Cluster, verb intent.Verb, o writeOptions, t kinds.Target) error {
	var change intent.Change
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		u, err := cluster.Get(ctx, t)
		if err != nil {
			return err
		}
		change, err = intent.Decide(verb, t.Kind, u)
		if err != nil {
			return fmt.Errorf("%s %s: %w", verb, t, err)
		}
		if change.Patch == nil || o.dryRun == dryClient {
			return nil
		}
		_, err = cluster.Patch(ctx, t, u, change.Patch, o.dryRun == dryServer)
		return err
	})
	if err != nil {
		return err
	}
	if change.Unchanged != "" {
		fmt.Fprintf(a.Streams.Out, "%s %s\n", t, change.Unchanged)
	} else {
		fmt.Fprintf(a.Streams.Out, "%s %s%s\n", t, verb.Done(), dryRunSuffix(o.dryRun))
	}
	if change.Note != "" {
		a.notify("note: %s: %s", t, change.Note)
	}
	return nil
}

func dryRunSuffix(dryRun string) string {
	switch dryRun {
	case dryClient:
		return " (dry run)"
	case dryServer:
		return " (server dry run)"
	}
	return ""
}
