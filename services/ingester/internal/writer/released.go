package writer

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// compareEnded compares the content of ended rows whose object was seen once more. The
// content is read for these alone, and they are few: most objects are gone by then.
func (b *batch) compareEnded(ctx context.Context, records []*record.Record, rows map[string]*stored) error {
	again := map[string]*record.Record{}
	var args []any
	for _, r := range records {
		if row := rows[r.UID]; row != nil && row.ended() && r.State != record.Live && r.ResVersion > row.res {
			again[r.UID] = r
			args = append(args, r.UID)
		}
	}
	if len(again) == 0 {
		return nil
	}
	query := "SELECT uid, json FROM " + schema.Quote(b.kind.Table) + " FORCE INDEX (PRIMARY) WHERE uid IN " + placeholders(len(args))
	return each(ctx, b.tx, query, args, func(r *sql.Rows) error {
		var uid string
		var before []byte
		if err := r.Scan(&uid, &before); err != nil {
			return err
		}
		same, err := sameContent(before, []byte(again[uid].JSON))
		if err != nil {
			return fmt.Errorf("compare %s with its row: %w", uid, err)
		}
		rows[uid].same = same
		return nil
	})
}

// sameContent reports whether two forms of an object differ only in fields that the API
// server changes while the object is terminating.
func sameContent(a, b []byte) (bool, error) {
	x, err := content(a)
	if err != nil {
		return false, err
	}
	y, err := content(b)
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(x, y), nil
}

func content(object []byte) (map[string]any, error) {
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber() // as floats two great integers may look the same
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	if meta, ok := tree["metadata"].(map[string]any); ok {
		for _, leaving := range []string{
			"resourceVersion", "generation", "managedFields",
			"finalizers", "deletionTimestamp", "deletionGracePeriodSeconds",
		} {
			delete(meta, leaving)
		}
	}
	return tree, nil
}
