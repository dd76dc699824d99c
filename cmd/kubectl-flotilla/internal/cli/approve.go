package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/approval"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

type approveOptions struct {
	skipPrompt, downgrade bool
	dryRun                string
}

var errNotApproved = errors.New("not approved: the answer was not yes")

func (a *App) approveCommand() *cobra.Command {
	var o approveOptions
	c := &cobra.Command{
		Use:   "approve-upgrade NAME",
		Short: "Approve the pending image change of a Superset",
		Long: `Approves the image change that a Superset with upgradeMode Supervised waits for, or, with --downgrade, the return to
an older version, which is blocked otherwise. The approval is valid for that one change: if the image changes again in
the meantime, the approval has no effect. The command shows the change and prompts for confirmation.`,
		Example: `  kubectl flotilla approve-upgrade main
  kubectl flotilla approve-upgrade superset/main --yes
  kubectl flotilla approve-upgrade main --downgrade`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completeSupersets,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runApprove(cmd.Context(), o, args)
		},
	}
	c.Flags().BoolVarP(&o.skipPrompt, "yes", "y", false, "skip the confirmation prompt")
	c.Flags().BoolVar(&o.downgrade, "downgrade", false, "approve the return to an older version")
	dryRunFlag(c, &o.dryRun)
	return c
}

func (a *App) runApprove(ctx context.Context, o approveOptions, args []string) error {
	if err := oneOf(o.dryRun, dryNone, dryClient, dryServer); err != nil {
		return fmt.Errorf("--dry-run: %w", err)
	}
	cluster, err := a.cluster()
	if err != nil {
		return err
	}
	kind := contract.Superset
	if len(args) == 2 {
		kind = "" // the first argument is the kind
	}
	targets, err := cluster.Targets(args, kind)
	if err != nil {
		return err
	}
	if len(targets) != 1 || targets[0].Kind != contract.Superset {
		return fmt.Errorf("only one superset can be approved at a time: %w", kinds.ErrUsage)
	}
	t := targets[0]
	u, err := cluster.Get(ctx, t)
	if err != nil {
		return err
	}
	change, err := approval.Decide(u, o.downgrade)
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	if change.Approved {
		fmt.Fprintf(a.Streams.Out, "%s: %s to %s is already approved\n", t, change.From, change.To)
		return nil
	}
	if err := a.confirm(ctx, o, t, u, change); err != nil {
		return err
	}
	return a.approve(ctx, cluster, o, t, u, change)
}

// confirm prints the change and prompts, unless --yes was given or nothing will be written.
func (a *App) confirm(ctx context.Context, o approveOptions, t kinds.Target, u *unstructured.Unstructured, change approval.Change) error {
	a.notify("%s in namespace %s: %s from %s to %s\n%s", t, u.GetNamespace(), change.Direction, change.From, change.To, change.Warning())
	if o.skipPrompt || o.dryRun == dryClient || o.dryRun == dryServer {
		return nil
	}
	fmt.Fprint(a.Streams.ErrOut, "Approve this change? [y/N] ")
	reply, err := a.readLine(ctx)
	switch {
	case interrupted(ctx):
		fmt.Fprintln(a.Streams.ErrOut) // ends the line of the prompt
		return fmt.Errorf("not approved: interrupted: %w", ctx.Err())
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(reply)) {
	case "y", "yes":
		return nil
	}
	return errNotApproved
}

// readLine reads a line of the input, until the context ends. A read cannot be canceled, so it then continues in the
// background until the process exits.
func (a *App) readLine(ctx context.Context) (string, error) {
	var line string
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		line, err = bufio.NewReader(a.Streams.In).ReadString('\n')
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-done:
		return line, err
	}
}

// approve writes the token. After a conflict it retries, provided that the change is still the one that was shown.
func (a *App) approve(
	ctx context.Context, cluster *kinds.Cluster, o approveOptions, t kinds.Target, u *unstructured.Unstructured, change approval.Change,
) error {
	if o.dryRun != dryClient {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			_, err := cluster.Patch(ctx, t, u, change.Patch(), o.dryRun == dryServer)
			if apierrors.IsConflict(err) {
				var readErr error
				if u, readErr = unchanged(ctx, cluster, o, t, change); readErr != nil {
					return readErr
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(a.Streams.Out, "%s: %s to %s approved%s\n", t, change.From, change.To, dryRunSuffix(o.dryRun))
	return nil
}

// unchanged reads the object again, and returns an error if another change is pending.
func unchanged(
	ctx context.Context, cluster *kinds.Cluster, o approveOptions, t kinds.Target, shown approval.Change,
) (*unstructured.Unstructured, error) {
	u, err := cluster.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	now, err := approval.Decide(u, o.downgrade)
	if err != nil {
		return nil, fmt.Errorf("%s has changed meanwhile: %w", t, err)
	}
	if now.Token != shown.Token {
		return nil, fmt.Errorf("%s: %w: the change is now from %s to %s, not as shown", t, approval.ErrNoPendingChange, now.From, now.To)
	}
	return u, nil
}
