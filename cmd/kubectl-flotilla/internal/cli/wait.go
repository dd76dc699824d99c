package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/wait"
)

func (a *App) waitCommand() *cobra.Command {
	var forFlag string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait KIND/NAME ... --for=condition=TYPE[=STATUS]",
		Short: "Wait until resources meet a condition for their latest spec",
		Long: `Waits until every named resource meets the condition, and exits with 1 if one does not before the timeout.

Only the latest generation counts: a condition must have an observedGeneration of at least the resource's generation; a
phase or a deployed version requires this of the whole status. So right after a change of the spec, the previous status does
not end the wait. The command prints a note at once if the resource has no condition of the type.`,
		Example: `  kubectl flotilla wait superset/main --for=condition=Available
  kubectl flotilla wait superset/main --for=condition=Degraded=False --timeout=2m
  kubectl flotilla wait fireng/shop --for=phase=stable
  kubectl flotilla wait superset/main --for=deployed-version=6.1.0 --timeout=15m`,
		ValidArgsFunction: a.completeResources,
		RunE: func(cmd *cobra.Command, args []string) error {
			criterion, err := wait.Parse(forFlag)
			if err != nil {
				return err
			}
			cluster, err := a.cluster()
			if err != nil {
				return err
			}
			targets, err := cluster.Targets(args, "")
			if err != nil {
				return err
			}
			return a.waitAll(cmd.Context(), cluster, targets, criterion, timeout)
		},
	}
	c.Flags().StringVar(&forFlag, "for", "condition=Available", "condition=TYPE[=STATUS], phase=PHASE or deployed-version=VERSION")
	c.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "how long to wait; 0 checks once")
	return c
}

// waitAll waits for the resources one after the other, with one common timeout, and reports on each.
func (a *App) waitAll(ctx context.Context, cluster *kinds.Cluster, targets []kinds.Target, criterion wait.Criterion, timeout time.Duration) error {
	if timeout < 0 {
		return errors.New("--timeout must not be negative")
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var failed []error
	for _, t := range targets {
		if err := a.waitFor(ctx, limited, cluster, t, criterion, timeout); err != nil {
			failed = append(failed, err)
			if interrupted(ctx) {
				break
			}
			continue
		}
		fmt.Fprintf(a.Streams.Out, "%s: %s\n", t, criterion)
	}
	return errors.Join(failed...)
}

// waitFor waits for one resource until the context limited ends. ctx ends only with an interrupt.
func (a *App) waitFor(
	ctx, limited context.Context, cluster *kinds.Cluster, t kinds.Target, criterion wait.Criterion, timeout time.Duration,
) error {
	// A first check outside the loop reports missing objects and permissions at once. It must work after the timeout too.
	bound := max(timeout, requestTimeout)
	if limited.Err() != nil {
		bound = requestTimeout // further resources must not wait for the timeout again
	}
	first, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	u, err := cluster.Get(first, t)
	switch {
	case interrupted(ctx):
		return fmt.Errorf("%s: interrupted while waiting for %s", t, criterion)
	case err != nil:
		return err
	}
	missing := a.check(criterion, t, u)
	if missing == "" {
		return nil
	}
	if timeout == 0 {
		return fmt.Errorf("%s: no %s: %s", t, criterion, missing)
	}
	if note := criterion.Unknown(view.Of(t.Kind, u)); note != "" {
		a.notify("note: %s", note)
	}
	deleted := fmt.Errorf("%s: deleted while waiting for %s", t, criterion)
	exists := func(store cache.Store) (bool, error) {
		if len(store.List()) > 0 {
			return false, nil
		}
		// No event reports a deletion before the watch. The list may also be older than the first read.
		_, err := cluster.Get(limited, t)
		if apierrors.IsNotFound(err) {
			err = deleted
		}
		return false, err
	}
	_, err = watchtools.UntilWithSync(limited, cluster.ListWatch(t.Mapping, cluster.Namespace, t.Name), &unstructured.Unstructured{}, exists,
		func(e watch.Event) (bool, error) {
			if e.Type == watch.Error {
				return false, fmt.Errorf("watch %s: %w", t, apierrors.FromObject(e.Object))
			}
			now, ok := e.Object.(*unstructured.Unstructured)
			switch {
			case !ok:
				return false, nil
			case e.Type == watch.Deleted:
				return false, deleted
			}
			missing = a.check(criterion, t, now)
			return missing == "", nil
		})
	switch {
	case err == nil:
		return nil
	case limited.Err() == nil:
		return err
	case interrupted(ctx):
		return fmt.Errorf("%s: interrupted while waiting for %s: %s", t, criterion, missing)
	}
	return fmt.Errorf("%s: no %s within %s: %s", t, criterion, timeout, missing)
}

func (a *App) check(criterion wait.Criterion, t kinds.Target, u *unstructured.Unstructured) string {
	missing := criterion.Missing(view.Of(t.Kind, u))
	if a.Checked != nil {
		a.Checked(missing)
	}
	return missing
}
