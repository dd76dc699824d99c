package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/evidence"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/printer"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

func (a *App) whyCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "why KIND/NAME",
		Short: "Show the evidence: why a resource is in its state, since when, and who reports it",
		Long: `Shows each condition with its reason, since when it holds and who wrote it, and its causes: workloads, failing
pods, tasks, needed resources, and the operator's last error.

It queries the status aggregator. If that does not respond, it reads the resource, its workloads, their pods and the events from
the cluster, and reports that.`,
		Example: `  kubectl flotilla why superset/main
  kubectl flotilla why fireng shop -o yaml`,
		ValidArgsFunction: a.completeResources,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runWhy(cmd.Context(), output, args)
		},
	}
	a.apiFlags(c)
	outputFlag(c, &output, printer.JSON, printer.YAML)
	return c
}

func (a *App) runWhy(ctx context.Context, output string, args []string) error {
	if err := oneOf(output, printer.JSON, printer.YAML); err != nil {
		return err
	}
	cluster, t, u, err := a.singleResource(ctx, args)
	if err != nil {
		return err
	}
	report, err := a.report(ctx, cluster, t, u)
	if err != nil {
		return err
	}
	if output != "" {
		return printer.Encode(a.Streams.Out, output, report)
	}
	return printer.Report(a.Streams.Out, report, a.Clock.Now())
}

func (a *App) report(ctx context.Context, cluster *kinds.Cluster, t kinds.Target, u *unstructured.Unstructured) (evidence.Report, error) {
	detail, err := a.detail(ctx, cluster, t, 1)
	if err == nil {
		return evidence.FromAPI(t.Kind, u, detail), nil
	}
	if ctx.Err() != nil {
		return evidence.Report{}, ctx.Err()
	}
	kube, failed := kubernetes.NewForConfig(cluster.Config)
	if failed != nil {
		return evidence.Report{}, fmt.Errorf("prepare the client: %w", failed)
	}
	return evidence.FromCluster(ctx, evidence.Input{Kube: kube, Kind: t.Kind, Resource: u, Reason: err.Error(), Now: a.Clock.Now()}), nil
}

// detail gets one resource from the status API.
func (a *App) detail(ctx context.Context, cluster *kinds.Cluster, t kinds.Target, history int) (statusapi.ResourceDetail, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	client, err := a.client(ctx, cluster)
	if err != nil {
		return statusapi.ResourceDetail{}, err
	}
	return client.Resource(ctx, t.Kind, cluster.Namespace, t.Name, history)
}

// singleResource reads the single resource that the arguments name.
func (a *App) singleResource(ctx context.Context, args []string) (*kinds.Cluster, kinds.Target, *unstructured.Unstructured, error) {
	cluster, err := a.cluster()
	if err != nil {
		return nil, kinds.Target{}, nil, err
	}
	targets, err := cluster.Targets(args, "")
	if err != nil {
		return nil, kinds.Target{}, nil, err
	}
	if len(targets) != 1 {
		return nil, kinds.Target{}, nil, fmt.Errorf("%w: one resource at a time", kinds.ErrUsage)
	}
	u, err := cluster.Get(ctx, targets[0])
	return cluster, targets[0], u, err
}
