package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/accounts"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
)

// tokenValidity is longer than a stack typically runs; each `up` writes new tokens.
const tokenValidity = "8760h"

// accountKinds are the kinds of a chart's account and its permissions.
const accountKinds = "clusterrolebindings,clusterroles,rolebindings,roles,serviceaccounts"

// prepareAccounts creates the account of each chosen service with the permissions that its chart grants. It deletes
// the remaining documents of an earlier version of the chart.
func (a *app) prepareAccounts(ctx context.Context, chosen []string) error {
	var documents []map[string]any
	for _, name := range chosen {
		manifest, err := a.renderChart(ctx, name)
		if err != nil {
			return err
		}
		taken, err := accounts.Documents(manifest, name, components.SystemNamespace)
		if err != nil {
			return err
		}
		documents = append(documents, taken...)
	}
	if slices.Contains(chosen, components.Aggregator) {
		documents = append(documents, viewer()...)
	}
	list, version, err := accounts.List(documents)
	if err != nil {
		return err
	}
	if _, err := a.kubectl(ctx, string(list), "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
		return err
	}
	earlier := accounts.Label + "," + accounts.Label + "!=" + version
	if _, err := a.kubectl(ctx, "", "delete", accountKinds, "--all-namespaces", "--selector="+earlier); err != nil {
		return err
	}
	for _, name := range chosen {
		if err := a.writeCredentials(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// viewer returns the account that the owner of the stack uses for the aggregator's HTTP API, since the kubeconfig of the
// owner has a client certificate and no token.
func viewer() []map[string]any {
	const rbac = "rbac.authorization.k8s.io"
	account := map[string]any{"kind": "ServiceAccount", "name": components.Viewer, "namespace": components.SystemNamespace}
	return []map[string]any{
		{
			"apiVersion": "v1", "kind": account["kind"],
			"metadata": map[string]any{"name": account["name"], "namespace": account["namespace"]},
		},
		{
			"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding",
			"metadata": map[string]any{"name": "flotilla-" + components.Viewer},
			"roleRef":  map[string]any{"apiGroup": rbac, "kind": "ClusterRole", "name": "flotilla-status-api-reader"},
			"subjects": []any{account},
		},
	}
}

// renderChart renders the chart of a service with the values that change its permissions in the stack.
func (a *app) renderChart(ctx context.Context, name string) ([]byte, error) {
	version, err := controlplane.KubernetesVersion(a.env.Checkout.Path("tools", "controlplane"))
	if err != nil {
		return nil, err
	}
	args := []string{
		"template", name, a.env.Chart(name), "--namespace=" + components.SystemNamespace, "--kube-version=" + version,
		"--set=cluster.name=" + components.ClusterName, "--set=bus.url=" + a.env.NATSURL(),
	}
	cmd := exec.CommandContext(ctx, a.env.Tools.Path("helm"), args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+a.env.Checkout.Local("cache", "helm"), "KUBECONFIG="+a.env.Kubeconfig())
	out, err := proc.Output(cmd)
	if err != nil {
		return nil, fmt.Errorf("render the chart of %s: %w", name, err)
	}
	return out, nil
}

// writeCredentials writes a new token of a service's account and the kubeconfig that names it.
func (a *app) writeCredentials(ctx context.Context, name string) error {
	token, err := a.kubectl(ctx, "", "create", "token", name, "--namespace="+components.SystemNamespace, "--duration="+tokenValidity)
	if err != nil {
		return err
	}
	admin, err := os.ReadFile(a.env.Kubeconfig())
	if err != nil {
		return fmt.Errorf("write the credentials of %s: %w", name, err)
	}
	file := a.env.TokenFile(name)
	config, err := accounts.Kubeconfig(admin, components.SystemNamespace, file)
	if err != nil {
		return err
	}
	if err := replace(file, bytes.TrimSpace(token)); err != nil {
		return fmt.Errorf("write the credentials of %s: %w", name, err)
	}
	if err := replace(a.env.ServiceKubeconfig(name), config); err != nil {
		return fmt.Errorf("write the credentials of %s: %w", name, err)
	}
	return nil
}

// replace replaces a secret file atomically, since a service may be reading it.
func replace(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file+".part", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}
