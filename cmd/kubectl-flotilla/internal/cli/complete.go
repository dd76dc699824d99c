package cli

import (
	_ "embed" // the script for kubectl's own completion
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

//go:embed kubectl_complete-flotilla
var kubectlScript string

// addKubectlCompletion adds "completion kubectl" to cobra's own completion commands.
func (a *App) addKubectlCompletion(root *cobra.Command) {
	completion, _, err := root.Find([]string{"completion"})
	if err != nil || completion == root {
		return
	}
	completion.Long = `Writes a completion script. For "kubectl flotilla ..." kubectl itself completes, with the help of a program named
kubectl_complete-flotilla that must be on PATH; "completion kubectl" writes it. The others complete the command
kubectl-flotilla when it is called by that name.`
	completion.AddCommand(&cobra.Command{
		Use:   "kubectl",
		Short: "Write the program kubectl_complete-flotilla, through which kubectl completes this plugin",
		Example: `  kubectl flotilla completion kubectl > ~/.local/bin/kubectl_complete-flotilla
  chmod +x ~/.local/bin/kubectl_complete-flotilla`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if _, err := fmt.Fprint(a.Streams.Out, kubectlScript); err != nil {
				return fmt.Errorf("write the script: %w", err)
			}
			return nil
		},
	})
}

// completeResources completes kinds, then names: "superset/ma<TAB>" and "superset ma<TAB>". It returns nothing if the
// cluster is unreachable.
func (a *App) completeResources(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	cluster, err := a.cluster()
	if err != nil {
		return nil, noFiles
	}
	if kind, _, slash := strings.Cut(typed, "/"); slash {
		return a.names(cmd, cluster, kind, kind+"/", args), noFiles
	}
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		return a.names(cmd, cluster, args[0], "", args[1:]), noFiles
	}
	mappings, err := cluster.Installed()
	if err != nil {
		return nil, noFiles
	}
	out := make([]string, len(mappings))
	for i, m := range mappings {
		out[i] = string(m.Kind) + "/"
	}
	return out, noFiles | cobra.ShellCompDirectiveNoSpace
}

func (a *App) completeSupersets(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	cluster, err := a.cluster()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	prefix := ""
	if kind, _, slash := strings.Cut(typed, "/"); slash {
		prefix = kind + "/"
	}
	return a.names(cmd, cluster, string(contract.Superset), prefix, args), cobra.ShellCompDirectiveNoFileComp
}

// names returns the resources of a kind with a prefix, without those that are already given.
func (a *App) names(cmd *cobra.Command, cluster *kinds.Cluster, kind, prefix string, given []string) []string {
	m, err := cluster.Resolve(kind)
	if err != nil {
		return nil
	}
	items, err := cluster.List(cmd.Context(), m, cluster.Namespace)
	if err != nil {
		return nil
	}
	var out []string
	for i := range items {
		if name := prefix + items[i].GetName(); !slices.Contains(given, name) {
			out = append(out, name)
		}
	}
	return out
}

func (a *App) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	cluster, err := a.cluster()
	if err != nil {
		return nil, noFiles
	}
	kube, err := kubernetes.NewForConfig(cluster.Config)
	if err != nil {
		return nil, noFiles
	}
	list, err := kube.CoreV1().Namespaces().List(cmd.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, noFiles
	}
	out := make([]string, len(list.Items))
	for i := range list.Items {
		out[i] = list.Items[i].Name
	}
	return out, noFiles
}
