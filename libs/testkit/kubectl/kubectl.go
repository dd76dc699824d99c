// Package kubectl runs kubectl on a cluster, so that tests apply files the way users do.
package kubectl

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// Client runs kubectl against one cluster.
type Client struct {
	Program    string
	Kubeconfig string
	// Cache is the discovery cache directory of this cluster; the shared one may hold data of an older cluster at the
	// same address. Empty means the shared one.
	Cache string
}

// Run runs a command and returns its standard output.
func (c Client) Run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	flags := []string{"--kubeconfig=" + c.Kubeconfig}
	if c.Cache != "" {
		flags = append(flags, "--cache-dir="+c.Cache)
	}
	cmd := exec.CommandContext(ctx, c.Program, append(flags, args...)...)
	cmd.Env = os.Environ()
	cmd.Stdin = strings.NewReader(stdin)
	out, err := proc.Output(cmd)
	if err != nil {
		return nil, fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// servedTimeout is the maximum time until an applied CRD is served, next to compilers on a small machine.
const servedTimeout = 5 * time.Minute

// ApplyCRDs applies files or directories of CustomResourceDefinitions and returns when they are served.
func (c Client) ApplyCRDs(ctx context.Context, paths ...string) error {
	var files []string
	for _, path := range paths {
		files = append(files, "-f", path)
	}
	// The API server ends a write after 34 s, which a large definition can take next to compilers.
	err := await.Nil(ctx, servedTimeout, time.Second, func(ctx context.Context) error {
		_, err := c.Run(ctx, "", append([]string{"apply", "--server-side", "--force-conflicts"}, files...)...)
		if err != nil && !strings.Contains(err.Error(), "(Timeout)") {
			return await.Stop(err)
		}
		return err
	})
	if err != nil {
		return err
	}
	// kubectl wait fails immediately for a new CRD that has no conditions yet.
	return await.Nil(ctx, servedTimeout, 100*time.Millisecond, func(ctx context.Context) error {
		_, err := c.Run(ctx, "", append([]string{"wait", "--for=condition=Established", "--timeout=" + servedTimeout.String()}, files...)...)
		return err
	})
}
