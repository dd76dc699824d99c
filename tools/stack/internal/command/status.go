package command

import (
	"context"
	"strconv"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/samples"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/table"
)

// status shows each component and each sample.
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
