package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/parts"
)

// showNext names a few commands for somebody who sees the stack for the first time.
func (a *app) showNext() error {
	all, err := a.env.Checkout.Services()
	if err != nil {
		return err
	}
	env := ".local/env"
	if a.env.Checkout.Folder != "" { // FLOTILLA_LOCAL moved it
		env = a.env.Checkout.Local("env")
	}
	a.info("%s", nextSteps(env, a.env.State.Services, all))
	return nil
}

// nextSteps returns the commands that work with the services that run, and says which of all services were left out.
func nextSteps(env string, running, all []string) string {
	has := func(service string) bool { return slices.Contains(running, service) }
	var b strings.Builder
	sets, first := "KUBECONFIG, NATS_URL, MYSQL_DSN and the PATH to kubectl", "kubectl get pods -A"
	if has(parts.Aggregator) {
		sets, first = sets+" and its plugin", "kubectl flotilla status -A"
	}
	fmt.Fprintf(&b, "Try next, in this shell (source %[1]s sets %[2]s):\n\n  source %[1]s && %[3]s", env, sets, first)
	if has(parts.Aggregator) && has("superset-operator") {
		b.WriteString("\n  kubectl flotilla why superset/development")
	}
	if has(parts.Aggregator) {
		b.WriteString(`
  kubectl flotilla page &               # the status page, in the browser
  go run ./docs/examples/subscribe &    # prints lifecycle events as they happen`)
	}
	if has("superset-operator") {
		b.WriteString("\n  kubectl patch superset development --type merge -p '{\"spec\":{\"webServer\":{\"replicas\":3}}}'")
	}
	if left := slices.DeleteFunc(slices.Clone(all), has); len(left) > 0 {
		fmt.Fprintf(&b, "\n\nLeft out: %s. `make up` without SERVICES adds what is missing.", list(left))
		if !has(parts.Aggregator) {
			fmt.Fprintf(&b, " Conditions, lifecycle events and `kubectl flotilla` need %s.", parts.Aggregator)
		}
	}
	return b.String()
}
