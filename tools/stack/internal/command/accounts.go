package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// accountsLabel is the label of all installed objects; its value is the version of the manifest that contains them.
const accountsLabel = "stack.flotilla.dev/accounts"

// prepareAccounts creates the account of each chosen service with the permissions that its chart grants. It deletes
// the remaining objects of an earlier version of the chart.
func (a *app) prepareAccounts(ctx context.Context, chosen []string) error {
	var documents bytes.Buffer
	for _, name := range chosen {
		rendered, err := a.renderAccount(ctx, name)
		if err != nil {
			return err
		}
		documents.Write(rendered)
	}
	if slices.Contains(chosen, components.Aggregator) {
		documents.WriteString(viewer)
	}
	manifest := documents.String()
	sum := sha256.Sum256([]byte(manifest))
	version := hex.EncodeToString(sum[:6])
	for _, args := range [][]string{
		{"apply", "--server-side", "--force-conflicts", "-f", "-"},
		{"label", "--overwrite", "-f", "-", accountsLabel + "=" + version},
		{"delete", accountKinds, "--all-namespaces", "--selector=" + accountsLabel + "," + accountsLabel + "!=" + version},
	} {
		if _, err := a.kubectl(ctx, manifest, args...); err != nil {
			return err
		}
	}
	for _, name := range chosen {
		if err := a.writeCredentials(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// viewer is the account that the owner of the stack uses for the aggregator's HTTP API, since the kubeconfig of the
// owner has a client certificate and no token.
const viewer = `
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: ` + components.Viewer + `, namespace: ` + components.SystemNamespace + `}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: flotilla-` + components.Viewer + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flotilla-status-api-reader}
subjects:
  - {kind: ServiceAccount, name: ` + components.Viewer + `, namespace: ` + components.SystemNamespace + `}
`

// renderAccount renders the account of a service and its permissions, with the values that change them in the stack.
func (a *app) renderAccount(ctx context.Context, name string) ([]byte, error) {
	version, err := controlplane.KubernetesVersion(a.env.Checkout.Path("tools", "controlplane"))
	if err != nil {
		return nil, err
	}
	args := []string{
		"template", name, a.env.Chart(name), "--namespace=" + components.SystemNamespace, "--kube-version=" + version,
		"--set=cluster.name=" + components.ClusterName, "--set=bus.url=" + a.env.NATSURL(),
		"--show-only=templates/serviceaccount.yaml", "--show-only=templates/rbac.yaml",
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
