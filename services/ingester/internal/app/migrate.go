package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
)

// "migrate up" runs as a Job before an upgrade, when MySQL or the cluster's DNS may be unavailable for a moment. The
// growing backoff of a failed Job would exceed the timeout of helm.
const (
	migrateTimeout       = 2 * time.Minute
	migrateRetryInterval = time.Second
)

// maxPrintedNotes bounds the output of "migrate up", since an adoption may note thousands of rows.
const maxPrintedNotes = 20

// migrate implements "ingester migrate status|up|verify".
func (o *Options) migrate(ctx context.Context, _ service.Options, args []string) (err error) {
	if len(args) != 1 {
		return errors.New("migrate requires one of status, up and verify")
	}
	ping := database.Ping
	if args[0] == "up" {
		ping = pingWithRetry
	}
	db, err := o.connect(ctx, ping)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return migrateCommand(ctx, db, args[0], os.Stdout)
}

func pingWithRetry(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	return database.Await(ctx, db, migrateRetryInterval, func(err error) {
		fmt.Fprintf(os.Stderr, "MySQL is unavailable, waiting up to %s: %v\n", migrateTimeout, err)
	})
}

// connect opens the database for a command and waits until ping succeeds.
func (o *Options) connect(ctx context.Context, ping func(context.Context, *sql.DB) error) (*sql.DB, error) {
	if !o.MySQL.Configured() {
		return nil, errors.New("this command requires MySQL: set --mysql-dsn (MYSQL_DSN), or --mysql-host, --mysql-user and --mysql-database")
	}
	connector, err := o.MySQL.Connector()
	if err != nil {
		return nil, err
	}
	db := database.OpenConnector(connector, o.MySQL.Pool)
	if err := ping(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func migrateCommand(ctx context.Context, db *sql.DB, command string, out io.Writer) error {
	switch command {
	case "status":
		return migrateStatus(ctx, db, out)
	case "up":
		return migrateUp(ctx, db, out)
	case "verify":
		return migrateVerify(ctx, db, out)
	}
	return fmt.Errorf("unknown command migrate %q, want status, up or verify", command)
}

func migrateUp(ctx context.Context, db *sql.DB, out io.Writer) error {
	report, err := migrations.UpWith(ctx, db, func(line string) {
		fmt.Fprintln(out, line)
	})
	if err != nil {
		return err
	}
	if err := migrateLines(out, "applied ", report.Applied); err != nil {
		return err
	}
	printed := report.Notes[:min(len(report.Notes), maxPrintedNotes)]
	if err := migrateLines(out, "noted ", printed); err != nil {
		return err
	}
	if more := len(report.Notes) - len(printed); more > 0 {
		if _, err := fmt.Fprintf(out, "noted %d more: ingester migrate status lists all\n", more); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%d migrations applied\n", len(report.Applied))
	return err
}

func migrateLines(out io.Writer, prefix string, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, prefix+line); err != nil {
			return err
		}
	}
	return nil
}

func migrateStatus(ctx context.Context, db *sql.DB, out io.Writer) error {
	states, err := migrations.List(ctx, db)
	if err != nil {
		return err
	}
	for _, s := range states {
		state := "pending"
		if s.Applied {
			state = "applied"
		}
		if _, err := fmt.Fprintf(out, "%-8s %s\n", state, s.Name); err != nil {
			return err
		}
	}
	notes, err := migrations.Notes(ctx, db)
	if err != nil {
		return err
	}
	return migrateLines(out, "noted    ", notes)
}

func migrateVerify(ctx context.Context, db *sql.DB, out io.Writer) error {
	problems, err := migrations.Verify(ctx, db)
	if err != nil {
		return err
	}
	for _, p := range problems {
		if _, err := fmt.Fprintln(out, p); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("the schema differs from the registry: %d differences", len(problems))
	}
	_, err = fmt.Fprintln(out, "the schema matches the registry")
	return err
}
