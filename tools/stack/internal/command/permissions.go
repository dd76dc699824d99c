package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/flotilla-dev/flotilla/libs/testkit/permissions"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/table"
)

// permissions prints the permissions of each service, how often the service used them, and its denied requests, since
// the control plane was created.
func (a *app) permissions(ctx context.Context, asJSON bool) error {
	if _, err := os.Stat(a.env.Kubeconfig()); err != nil {
		return errors.New("there is no control plane; start the stack with `make up`")
	}
	list, err := a.kubectl(ctx, "", "get", accountKinds, "--all-namespaces", "-o", "json")
	if err != nil {
		return fmt.Errorf("the control plane does not answer; start the stack with `make up`: %w", err)
	}
	policy, err := permissions.ParsePolicy(list)
	if err != nil {
		return err
	}
	ledgers := map[string]*permissions.Ledger{}
	for _, name := range a.env.State.Services {
		account := permissions.Account{Namespace: components.SystemNamespace, Name: name}
		ledgers[account.User()] = permissions.NewLedger(policy.Granted(account))
	}
	if err := a.readAudit(ledgers); err != nil {
		return err
	}
	var reports []permissions.ServiceReport
	for _, name := range a.env.State.Services {
		account := permissions.Account{Namespace: components.SystemNamespace, Name: name}
		reports = append(reports, permissions.ServiceReport{Service: name, Report: ledgers[account.User()].Report()})
	}
	if asJSON {
		encoder := json.NewEncoder(a.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(reports)
	}
	a.showPermissions(reports)
	return nil
}

// readAudit adds each request to the ledger of its user.
func (a *app) readAudit(ledgers map[string]*permissions.Ledger) error {
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

func readAuditFile(path string, ledgers map[string]*permissions.Ledger) (err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("the control plane keeps no audit log: it is older than this command; " +
			"run `make down` and `make up` to create it again")
	}
	if err != nil {
		return fmt.Errorf("open the audit log: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for event, err := range permissions.Events(file) {
		if err != nil {
			return err
		}
		if ledger := ledgers[event.User]; ledger != nil {
			ledger.Add(event)
		}
	}
	return nil
}

func (a *app) showPermissions(reports []permissions.ServiceReport) {
	rows := [][]string{{"SERVICE", "RESOURCE", "VERB", "LIMITED TO", "USED"}}
	for _, report := range reports {
		for _, use := range report.Permissions {
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
		a.info("no request was denied")
	}
}
