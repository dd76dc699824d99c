package command

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/hooks"
)

// prepareAdmission installs the policies and registers the webhooks of the chosen services before these start, so that a
// service that sets the caBundle finds them. It removes those of the other services, which do not run.
func (a *app) prepareAdmission(ctx context.Context, chosen []string) error {
	all, err := a.env.Checkout.Services()
	if err != nil {
		return err
	}
	for _, name := range all {
		runs := slices.Contains(chosen, name)
		switch {
		case a.env.HasPolicies(name):
			err = a.installPolicies(ctx, name, runs)
		case !a.env.HasWebhooks(name):
		case runs:
			err = a.registerWebhooks(ctx, name)
		default:
			_, err = a.kubectl(ctx, "", "delete", "--ignore-not-found", "-f", a.env.Webhooks(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) installPolicies(ctx context.Context, name string, runs bool) error {
	args := []string{"delete", "--ignore-not-found"}
	if runs {
		args = []string{"apply", "--server-side", "--force-conflicts"}
	}
	_, err := a.kubectl(ctx, "", append(args, "-f", a.env.Policies(name))...)
	return err
}

// registerWebhooks configures the API server to call the webhooks of a service on loopback.
func (a *app) registerWebhooks(ctx context.Context, name string) error {
	address, err := a.env.WebhookAddress(name)
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(a.env.Webhooks(name))
	if err != nil {
		return fmt.Errorf("register the webhooks of %s: %w", name, err)
	}
	list, err := hooks.ByURL(manifest, address)
	if err != nil {
		return fmt.Errorf("register the webhooks of %s: %w", name, err)
	}
	_, err = a.kubectl(ctx, string(list), "apply", "--server-side", "--force-conflicts", "-f", "-")
	return err
}

// webhookPort returns the port of a service's webhooks, or 0 if it has none yet.
func (a *app) webhookPort(name string) int {
	return a.env.State.Ports[name+"-webhook"]
}
