package mysql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

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

// page reads the next rows in the order of creation and uid.
func (b *backfill) page(ctx context.Context) ([]*oldRow, error) {
	where, args := "TRUE", []any(nil)
	switch {
	case b.last != nil:
		where = "(create_time > ? OR (create_time = ? AND uid > ?))"
		args = []any{b.last.CreateTime, b.last.CreateTime, b.last.UID}
	case !b.options.StartTime.IsZero():
		where, args = "create_time >= ?", []any{b.options.StartTime.UTC()}
	}
	if b.options.ExcludeDeleted {
		where += " AND delete_time IS NULL"
	}
	if n := len(b.options.NameSpaces); n > 0 {
		where += " AND namespace IN (" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")"
		for _, namespace := range b.options.NameSpaces {
			args = append(args, namespace)
		}
	}
	return b.read(ctx, "FORCE INDEX (idx_create_time) WHERE "+where+" ORDER BY create_time, uid LIMIT "+strconv.Itoa(backfillPage), args)
}

// reread reads rows again; it omits those that no longer exist.
func (b *backfill) reread(ctx context.Context, uids []string) ([]*oldRow, error) {
	args := make([]any, 0, len(uids))
	for _, uid := range uids {
		args = append(args, uid)
	}
	return b.read(ctx, "WHERE uid IN ("+strings.TrimSuffix(strings.Repeat("?, ", len(uids)), ", ")+")", args)
}

func (b *backfill) read(ctx context.Context, rest string, args []any) (out []*oldRow, err error) {
	names := []string{"uid", "namespace", "name", "incarnation", "res_version", "create_time", "group_ver", "proto", "json"}
	for _, c := range b.kind.Columns {
		names = append(names, schema.Quote(c.Name))
	}
	result, err := b.s.db.QueryContext(ctx, "SELECT "+strings.Join(names, ", ")+" FROM "+schema.Quote(b.kind.Table)+" "+rest, args...) //nolint:gosec // names of the schema; values are arguments
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	for result.Next() {
		o := &oldRow{indexed: make([]any, len(b.kind.Columns))}
		dest := []any{&o.UID, &o.Namespace, &o.Name, &o.Incarnation, &o.ResVersion, &o.CreateTime, &o.groupVersion, &o.proto, &o.json}
		for i := range o.indexed {
			dest = append(dest, &o.indexed[i])
		}
		if err := result.Scan(dest...); err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		out = append(out, o)
	}
	return out, result.Err()
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
	return !reflect.DeepEqual(old, updated), nil
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
