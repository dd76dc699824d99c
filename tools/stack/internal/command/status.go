package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/samples"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/table"
)

// status prints the state of each component and each sample.
func (a *app) status(ctx context.Context) error {
	all, mysql := a.all()
	rows := [][]string{{"PART", "PID", "ADDRESS", "HEALTH"}}
	served := false
	for _, part := range all {
		for _, s := range part.Status(ctx) {
			rows = append(rows, statusRow(s))
			served = served || (s.Name == "kube-apiserver" && s.Health == components.OK)
		}
	}
	a.info("%s", table.Render(rows))
	if !served {
		a.info("the control plane does not run; start the stack with `make up`")
		return nil
	}
	set, err := a.samples()
	if err != nil {
		return err
	}
	reports, err := a.checkSamples(ctx, set, mysql.DSN())
	if err != nil {
		return err
	}
	a.showSamples(reports)
	return nil
}

func statusRow(s components.Status) []string {
	pid, address := "-", s.Address
	if s.PID != 0 {
		pid = strconv.Itoa(s.PID)
	}
	if address == "" {
		address = "-"
	}
	return []string{s.Name, pid, address, s.Health}
}

func (a *app) showSamples(reports []samples.Report) {
	if len(reports) > 0 {
		a.info("%s", table.Render(samples.Rows(reports)))
	}
}

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
		fmt.Fprintf(&b, "\n\nNot running: %s. `make up` without SERVICES starts them.", list(left))
		if !has(components.Aggregator) {
			fmt.Fprintf(&b, " Conditions, lifecycle events and `kubectl flotilla` need %s.", components.Aggregator)
		}
	}
	return b.String()
}
