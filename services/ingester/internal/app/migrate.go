package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
)

// migrate implements "ingester migrate status|up|verify".
func (o *Options) migrate(ctx context.Context, _ service.Options, args []string) (err error) {
	if len(args) != 1 {
		return errors.New("migrate needs one of status, up and verify")
	}
	db, err := database.Open(o.MySQLDSN)
	if err != nil {
		return fmt.Errorf("--mysql-dsn %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := database.Ping(ctx, db); err != nil {
		return fmt.Errorf("--mysql-dsn: %w", err)
	}
	return migrateCommand(ctx, db, args[0], os.Stdout)
}

func migrateCommand(ctx context.Context, db *sql.DB, command string, out io.Writer) error {
	switch command {
	case "status":
		return migrateStatus(ctx, db, out)
	case "up":
		applied, err := migrations.Up(ctx, db)
		if err != nil {
			return err
		}
		for _, name := range applied {
			if _, err := fmt.Fprintln(out, "applied", name); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(out, "%d migrations applied\n", len(applied))
		return err
	case "verify":
		return migrateVerify(ctx, db, out)
	}
	return fmt.Errorf("migrate %q is unknown: want status, up or verify", command)
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
	return nil
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
		return fmt.Errorf("the schema has %d differences", len(problems))
	}
	_, err = fmt.Fprintln(out, "the schema is as the registry wants it")
	return err
}
