package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/parts"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/rights"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/table"
)

// serviceRights is what `rights --json` prints of a service, in a list.
type serviceRights struct {
	Service string `json:"service"`
	rights.Report
}

// rights shows what each service was granted, how often it used that, and what was refused, since the control plane was
// created.
func (a *app) rights(ctx context.Context, asJSON bool) error {
	if _, err := os.Stat(a.env.Kubeconfig()); err != nil {
		return errors.New("there is no control plane; start the stack with `make up`")
	}
	list, err := a.kubectl(ctx, "", "get", accountKinds, "--all-namespaces", "-o", "json")
	if err != nil {
		return fmt.Errorf("the control plane does not answer; start the stack with `make up`: %w", err)
	}
	policy, err := rights.ParsePolicy(list)
	if err != nil {
		return err
	}
	ledgers := map[string]*rights.Ledger{}
	for _, name := range a.env.State.Services {
		account := rights.Account{Namespace: parts.SystemNamespace, Name: name}
		ledgers[account.User()] = rights.NewLedger(policy.Granted(account))
	}
	if err := a.readAudit(ledgers); err != nil {
		return err
	}
	var reports []serviceRights
	for _, name := range a.env.State.Services {
		account := rights.Account{Namespace: parts.SystemNamespace, Name: name}
		reports = append(reports, serviceRights{name, ledgers[account.User()].Report()})
	}
	if asJSON {
		encoder := json.NewEncoder(a.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(reports)
	}
	a.showRights(reports)
	return nil
}

// readAudit enters each request into the ledger of its user.
func (a *app) readAudit(ledgers map[string]*rights.Ledger) error {
	files, err := a.env.AuditLogs()
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := readAuditFile(file, ledgers); err != nil {
			return err
		}
	}
	return nil
}

func readAuditFile(path string, ledgers map[string]*rights.Ledger) (err error) {
	file, err := os.Open(path) //nolint:gosec // the stack's own log
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("the control plane keeps no audit log: it is older than this command; " +
			"create it anew with `make down` and `make up`")
	}
	if err != nil {
		return fmt.Errorf("open the audit log: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for event, err := range rights.Events(file) {
		if err != nil {
			return err
		}
		if ledger := ledgers[event.User]; ledger != nil {
			ledger.Add(event)
		}
	}
	return nil
}

func (a *app) showRights(reports []serviceRights) {
	rows := [][]string{{"SERVICE", "RESOURCE", "VERB", "LIMITED TO", "USED"}}
	for _, report := range reports {
		for _, use := range report.Rights {
			rows = append(rows, []string{report.Service, use.Target(), use.Verb, use.Scope(), strconv.Itoa(use.Used)})
		}
	}
	a.info("%s", table.Render(rows))
	denied := 0
	for _, report := range reports {
		for _, d := range report.Denied {
			a.info("DENIED %s %s, %d times: %s", report.Service, d.Request, d.Times, d.Message)
			denied++
		}
	}
	if denied == 0 {
		a.info("no request was refused")
	}
}
