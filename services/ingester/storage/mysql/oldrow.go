package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/jsonvalue"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// oldRow is a stored row with its content.
type oldRow struct {
	rows.Row
	groupVersion string
	proto, json  []byte
	indexed      []any
}

// candidate is a row in the order of creation and uid.
type candidate struct {
	UID        string       `db:"uid"`
	Namespace  string       `db:"namespace"`
	CreateTime time.Time    `db:"create_time"`
	DeleteTime sql.NullTime `db:"delete_time"`
}

// next reads the next rows of all, so that one statement reads no more rows than a page has, however few of them
// are selected.
func (b *backfill) next(ctx context.Context) (out []candidate, err error) {
	where, args := "TRUE", []any(nil)
	switch {
	case b.last != nil:
		where = "(create_time > ? OR (create_time = ? AND uid > ?))"
		args = []any{b.last.CreateTime, b.last.CreateTime, b.last.UID}
	case !b.options.StartTime.IsZero():
		where, args = "create_time >= ?", []any{b.options.StartTime.UTC()}
	}
	query := "SELECT uid, namespace, create_time, delete_time FROM " + schema.Quote(b.kind.Table) +
		" FORCE INDEX (idx_create_time) WHERE " + where + " ORDER BY create_time, uid LIMIT ?"
	if err := sqlx.NewDb(b.s.db, "mysql").SelectContext(ctx, &out, query, append(args, backfillPage)...); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return out, nil
}

// selects reports whether a row is to be rewritten.
func (b *backfill) selects(c candidate) bool {
	return (!b.options.ExcludeDeleted || !c.DeleteTime.Valid) &&
		(len(b.options.NameSpaces) == 0 || slices.Contains(b.options.NameSpaces, c.Namespace))
}

// read reads rows with their content; it omits those that no longer exist.
func (b *backfill) read(ctx context.Context, uids []string) (out []*oldRow, err error) {
	if len(uids) == 0 {
		return nil, nil
	}
	args := make([]any, 0, len(uids))
	for _, uid := range uids {
		args = append(args, uid)
	}
	names := []string{"uid", "namespace", "name", "incarnation", "res_version", "create_time", "group_ver", "proto", "json"}
	for _, c := range b.kind.Columns {
		names = append(names, schema.Quote(c.Name))
	}
	query := "SELECT " + strings.Join(names, ", ") + " FROM " + schema.Quote(b.kind.Table) +
		" WHERE uid IN (" + strings.TrimSuffix(strings.Repeat("?, ", len(uids)), ", ") + ") ORDER BY create_time, uid"
	err = database.EachRow(ctx, b.s.db, query, args, func(r *sql.Rows) error {
		o := &oldRow{indexed: make([]any, len(b.kind.Columns))}
		dest := []any{&o.UID, &o.Namespace, &o.Name, &o.Incarnation, &o.ResVersion, &o.CreateTime, &o.groupVersion, &o.proto, &o.json}
		for i := range o.indexed {
			dest = append(dest, &o.indexed[i])
		}
		out = append(out, o)
		return r.Scan(dest...)
	})
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return out, nil
}

// rewriteOf returns the rewrite of a row; nil means that nothing is written.
func (b *backfill) rewriteOf(row *oldRow) (*writer.Rewrite, error) {
	object, err := b.s.decode(b.kind, row.json, nil)
	if err != nil {
		return nil, err
	}
	params, err := b.prepare(object)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	if params == nil {
		return nil, nil
	}
	r, err := b.record(row, params)
	if err != nil {
		return nil, err
	}
	out := &writer.Rewrite{Record: r, Incarnation: row.Incarnation, Pairs: b.options.Command == storage.BackfillAll}
	if b.options.Command != storage.BackfillIndex {
		if out.Content, err = contentDiffers(row, r); err != nil {
			return nil, err
		}
	}
	if b.options.Command != storage.BackfillBlob {
		out.Index = !equalIndexed(row.indexed, r.Indexed)
	}
	if !out.Content && !out.Index && !out.Pairs {
		return nil, nil
	}
	return out, nil
}

// record builds the new record of a row, which must be the same version of the same object.
func (b *backfill) record(row *oldRow, params *storage.BackfillParams) (*record.Record, error) {
	u, kind, err := b.s.content(params.Object)
	if err != nil {
		return nil, err
	}
	r, err := b.s.build(u, record.Live, kind, params.IndexedFields, "")
	if err != nil {
		return nil, err
	}
	if kind != b.kind || r.UID != row.UID || r.Namespace != row.Namespace || r.Name != row.Name || r.ResVersion != row.ResVersion {
		return nil, invalid("prepare returned another object: %s %s/%s with uid %s and resourceVersion %d", kind.Name, r.Namespace, r.Name, r.UID, r.ResVersion)
	}
	return r, nil
}

// contentDiffers compares content. JSON is compared by value: servers write it in their own way.
func contentDiffers(row *oldRow, r *record.Record) (bool, error) {
	if !bytes.Equal(row.proto, r.Proto) || row.groupVersion != r.GroupVersion {
		return true, nil
	}
	var old, updated any
	if err := errors.Join(utiljson.Unmarshal(row.json, &old), utiljson.Unmarshal([]byte(r.JSON), &updated)); err != nil {
		return false, fmt.Errorf("decode content: %w", err)
	}
	return !jsonvalue.Equal(old, updated), nil
}

func equalIndexed(old, updated []any) bool {
	for i := range old {
		if plain(old[i]) != plain(updated[i]) {
			return false
		}
	}
	return true
}

// plain makes values comparable, as the driver reads them and as a record holds them.
func plain(v any) any {
	switch x := v.(type) {
	case []byte:
		return string(x)
	case bool:
		if x {
			return int64(1)
		}
		return int64(0)
	case float32:
		return float64(x)
	case time.Time:
		return x.UTC().Truncate(time.Microsecond).UnixMicro()
	default:
		return v
	}
}
