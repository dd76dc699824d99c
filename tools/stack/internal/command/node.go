package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/envfile"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/node"
)

// The values of --node.
const (
	simulated = "simulated"
	realNode  = "real"
)

// bringUpNode brings up a cluster with one real node.
func (a *app) bringUpNode(ctx context.Context) error {
	if !a.env.State.RealNode && exists(a.env.Kubeconfig()) {
		return errors.New("the stack runs with simulated nodes: take it down first with `make down`")
	}
	// Noted before anything is there, so that `down` finds whatever is left by a start that was killed.
	a.env.State.RealNode, a.env.State.Services = true, nil
	if err := a.env.State.Save(); err != nil {
		return err
	}
	if err := a.nodeTools(ctx); err != nil {
		return err
	}
	if err := a.ensure(ctx, a.node); err != nil {
		return err
	}
	if err := a.step("cluster DNS and volumes", func() (string, error) {
		return "ready", a.node.Node.Start(ctx)
	}); err != nil {
		return err
	}
	return envfile.Write(a.env.Checkout.Local("env"), envfile.Vars{{Name: "KUBECONFIG", Value: a.env.Kubeconfig()}},
		[]string{a.env.Tools.Dir, a.env.Checkout.Local("bin")})
}

// nodeTools builds and fetches what a real node runs.
func (a *app) nodeTools(ctx context.Context) error {
	if err := node.Ready(ctx, a.env.Checkout); err != nil {
		return err
	}
	return a.step("programs of the real node", func() (string, error) {
		return "ready", a.node.Node.Prepare(ctx)
	})
}

// importImages imports images into the real node.
func (a *app) importImages(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return fmt.Errorf("%w: import wants files or folders", errUsage)
	}
	return a.step("images", func() (string, error) {
		files, err := a.node.Node.Import(ctx, paths)
		for _, file := range files {
			a.info("  %s", filepath.Base(file))
		}
		return "imported", err
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
