package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/printer"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
)

type statusOptions struct {
	all, watch, noHeaders bool
	output                string
}

func (a *App) statusCommand() *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status [KIND | KIND/NAME ...]",
		Short: "Show all managed resources, or one with its components and conditions",
		Long: `Lists the managed resources with their phase, version and conditions, or shows the named ones as trees: resource,
components, tasks, conditions. It reads the resources themselves, so it needs only the Kubernetes API.

NOTE is the most important reason: why a resource is degraded, unavailable or progressing, that it is paused or stopped,
or SpecNotObserved while the status belongs to an older spec.`,
		Example: `  kubectl flotilla status
  kubectl flotilla status -A -o wide
  kubectl flotilla status fireng
  kubectl flotilla status superset/main
  kubectl flotilla status superset/main --watch`,
		ValidArgsFunction: a.completeResources,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runStatus(cmd.Context(), o, args)
		},
	}
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "list the resources of all namespaces")
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, "show every change until interrupted")
	c.Flags().BoolVar(&o.noHeaders, "no-headers", false, "omit the header line")
	outputFlag(c, &o.output, printer.JSON, printer.YAML, printer.Wide)
	return c
}

func (a *App) runStatus(ctx context.Context, o statusOptions, args []string) error {
	if err := oneOf(o.output, printer.JSON, printer.YAML, printer.Wide); err != nil {
		return err
	}
	cluster, err := a.cluster()
	if err != nil {
		return err
	}
	named := len(args) > 1 || len(args) == 1 && strings.Contains(args[0], "/")
	if !named {
		return a.statusList(ctx, cluster, o, args)
	}
	if o.all {
		return errors.New("a resource cannot be named together with --all-namespaces")
	}
	targets, err := cluster.Targets(args, "")
	if err != nil {
		return err
	}
	found, err := getNamed(ctx, cluster, targets)
	if err != nil {
		return err // like kubectl, also before a watch
	}
	if o.watch {
		return a.watch(ctx, cluster, o, watchedTargets(cluster, targets))
	}
	return a.printNamed(o, found)
}

// getNamed returns the current state of named resources; each must exist.
func getNamed(ctx context.Context, cluster *kinds.Cluster, targets []kinds.Target) ([]view.Resource, error) {
	found := make([]view.Resource, len(targets))
	for i, t := range targets {
		u, err := cluster.Get(ctx, t)
		if err != nil {
			return nil, err
		}
		found[i] = view.Of(t.Kind, u)
	}
	return found, nil
}

// statusList shows all resources, or all of one kind. Errors for one kind do not hide the others.
func (a *App) statusList(ctx context.Context, cluster *kinds.Cluster, o statusOptions, args []string) error {
	mappings, err := mappingsOf(cluster, args)
	if err != nil {
		return err
	}
	namespace := cluster.Namespace
	if o.all {
		namespace = ""
	}
	var found []view.Resource
	var failed []error
	for _, m := range mappings {
		items, err := cluster.List(ctx, m, namespace)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for i := range items {
			found = append(found, view.Of(m.Kind, &items[i]))
		}
	}
	if o.watch && len(failed) == 0 {
		return a.watch(ctx, cluster, o, watchedKinds(mappings, namespace))
	}
	slices.SortStableFunc(found, func(x, y view.Resource) int { return cmp.Compare(x.Namespace, y.Namespace) })
	return errors.Join(append([]error{a.printList(o, found, namespace, len(failed) > 0)}, failed...)...)
}

func mappingsOf(cluster *kinds.Cluster, args []string) ([]kinds.Mapping, error) {
	if len(args) == 0 {
		return cluster.Installed()
	}
	m, err := cluster.Resolve(args[0])
	return []kinds.Mapping{m}, err
}

func (a *App) printList(o statusOptions, found []view.Resource, namespace string, partial bool) error {
	switch {
	case o.output == printer.JSON || o.output == printer.YAML:
		return printer.Encode(a.Streams.Out, o.output, map[string]any{"items": append([]view.Resource{}, found...)})
	case len(found) > 0:
		return printer.Resources(a.Streams.Out, found, o.columns(), a.Clock.Now())
	case partial:
		return nil
	case namespace == "":
		a.notify("No resources found")
	default:
		a.notify("No resources found in namespace %q", namespace)
	}
	return nil
}

func (o statusOptions) columns() printer.Columns {
	return printer.Columns{Namespace: o.all, Wide: o.output == printer.Wide, NoHeaders: o.noHeaders}
}

// printNamed shows named resources, each as a tree.
func (a *App) printNamed(o statusOptions, found []view.Resource) error {
	if o.output == printer.JSON || o.output == printer.YAML {
		if len(found) == 1 {
			return printer.Encode(a.Streams.Out, o.output, found[0])
		}
		return printer.Encode(a.Streams.Out, o.output, map[string]any{"items": found})
	}
	for i, r := range found {
		if i > 0 {
			fmt.Fprintln(a.Streams.Out)
		}
		if err := printer.Tree(a.Streams.Out, r, a.Clock.Now()); err != nil {
			return err
		}
	}
	return nil
}

func outputFlag(c *cobra.Command, to *string, formats ...string) {
	c.Flags().StringVarP(to, "output", "o", "", "format: "+strings.Join(formats, ", ")+"; human-readable by default")
	if err := c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		fmt.Fprintln(c.ErrOrStderr(), "warning:", err) // completion is a convenience
	}
}

func oneOf(output string, formats ...string) error {
	if output != "" && !slices.Contains(formats, output) {
		return fmt.Errorf("--output=%q is not one of %s", output, strings.Join(formats, ", "))
	}
	return nil
}
