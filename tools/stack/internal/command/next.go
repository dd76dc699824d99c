package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
)

// showNext prints a few commands for first-time users of the stack.
func (a *app) showNext() error {
	all, err := a.env.Checkout.Services()
	if err != nil {
		return err
	}
	env := ".local/env"
	if a.env.Checkout.Dir != "" { // FLOTILLA_LOCAL moved it
		env = a.env.Checkout.Local("env")
	}
	a.info("%s", nextSteps(env, a.env.State.Services, all))
	return nil
}

// nextSteps returns the commands that work with the running services, and lists the services that are not running.
func nextSteps(env string, running, all []string) string {
	has := func(service string) bool { return slices.Contains(running, service) }
	var b strings.Builder
	sets, first := "KUBECONFIG, NATS_URL, MYSQL_DSN and the PATH to kubectl", "kubectl get pods -A"
	if has(components.Aggregator) {
		sets, first = sets+" and its plugin", "kubectl flotilla status -A"
	}
	fmt.Fprintf(&b, "Try next, in this shell (source %[1]s sets %[2]s):\n\n  source %[1]s && %[3]s", env, sets, first)
	if has(components.Aggregator) && has("superset-operator") {
		b.WriteString("\n  kubectl flotilla why superset/development")
	}
	if has(components.Aggregator) {
		b.WriteString(`
  kubectl flotilla page &               # the status page, in the browser
  go run ./docs/examples/subscribe &    # prints lifecycle events as they happen`)
	}
	if has("superset-operator") {
		b.WriteString("\n  kubectl patch superset development --type merge -p '{\"spec\":{\"webServer\":{\"replicas\":3}}}'")
	}
	if left := slices.DeleteFunc(slices.Clone(all), has); len(left) > 0 {
		fmt.Fprintf(&b, "\n\nLeft out: %s. `make up` without SERVICES adds what is missing.", list(left))
		if !has(components.Aggregator) {
			fmt.Fprintf(&b, " Conditions, lifecycle events and `kubectl flotilla` need %s.", components.Aggregator)
		}
	}
	return b.String()
}
