package migrations

import (
	"context"
	"database/sql"

	"github.com/pressly/goose/v3"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/legacyschema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

const adoptionVersion = 43

// adoption returns the migration that adopts the tables of an earlier installation: CREATE
// TABLE IF NOT EXISTS left them unchanged. It compares with the registry of this binary, so
// it also creates the columns of later migrations, which are then no-ops. Tables of a kind
// that was added later do not exist yet.
func adoption(kinds []*registry.Kind, o legacyschema.Options) *goose.Migration {
	return goose.NewGoMigration(adoptionVersion, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		return legacyschema.Run(ctx, tx, kinds, o)
	}}, nil)
}
