package command

import (
	"context"
	"strconv"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/parts"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/samples"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/table"
)

// status shows each part and each sample.
func (a *app) status(ctx context.Context) error {
	all, mysql := a.all()
	rows := [][]string{{"PART", "PID", "ADDRESS", "HEALTH"}}
	served := false
	for _, part := range all {
		for _, s := range part.Status(ctx) {
			rows = append(rows, statusRow(s))
			served = served || (s.Name == "kube-apiserver" && s.Health == parts.OK)
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

func statusRow(s parts.Status) []string {
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

// showNext names a few commands for somebody who sees the stack for the first time.
func (a *app) showNext() {
	env := ".local/env"
	if a.env.Checkout.Folder != "" { // FLOTILLA_LOCAL moved it
		env = a.env.Checkout.Local("env")
	}
	a.info(`Try next, in this shell (source %[1]s sets KUBECONFIG, NATS_URL, MYSQL_DSN and the PATH to kubectl and its plugin):

  source %[1]s && kubectl flotilla status -A
  kubectl flotilla why superset/development
  kubectl flotilla page &               # the status page, in the browser
  go run ./docs/examples/subscribe &    # prints lifecycle events as they happen
  kubectl patch superset development --type merge -p '{"spec":{"webServer":{"replicas":3}}}'`, env)
}
