package verify

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/jsonvalue"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	tables "github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// content is a row with all parts that must follow from its JSON.
type content struct {
	rows.Row
	object              *unstructured.Unstructured
	broken              string // the cause, if the JSON is not an object
	proto               []byte
	indexed             []sql.NullString // parallel to the kind's columns
	labels, annotations map[string]string
}

// consistent returns where the row differs from its own JSON, or "".
func (row *content) consistent(builder *record.Builder) string {
	if row.broken != "" {
		return row.broken
	}
	want, err := builder.Build(row.object, record.Live)
	if err != nil {
		return "failed to encode its JSON: " + err.Error()
	}
	var mismatches []string
	check := func(name string, ok bool) {
		if !ok {
			mismatches = append(mismatches, name)
		}
	}
	check("uid", want.UID == row.UID)
	check("namespace", want.Namespace == row.Namespace)
	check("name", want.Name == row.Name)
	check("res_version", want.ResVersion == row.ResVersion)
	check("create_time", want.CreateTime.Equal(row.CreateTime))
	check("proto", bytes.Equal(want.Proto, row.proto))
	for i, column := range want.Kind.Columns {
		check(column.Name, sameColumn(&want.Kind.Columns[i], want.Indexed[i], row.indexed[i]))
	}
	check("labels", samePairs(want.Labels, row.labels))
	check("annotations", samePairs(want.Annotations, row.annotations))
	if len(mismatches) == 0 {
		return ""
	}
	return "differs from its JSON: " + strings.Join(mismatches, ", ")
}

// equals returns where the row's JSON differs from the object of the same version, or
// "". Different versions are not compared here.
func (row *content) equals(object *unstructured.Unstructured) string {
	if row == nil || row.object == nil || row.object.GetResourceVersion() != object.GetResourceVersion() {
		return ""
	}
	if path, differs := jsonvalue.Difference(withoutManagers(object), withoutManagers(row.object)); differs {
		return "its JSON differs from the object at " + path
	}
	return ""
}

// read adds the content to rows.
func (c *comparison) read(ctx context.Context, page []rows.Row) ([]content, error) {
	if len(page) == 0 {
		return nil, nil
	}
	uids := make([]string, 0, len(page))
	for _, r := range page {
		uids = append(uids, r.UID)
	}
	lines, err := c.readMain(ctx, uids)
	if err != nil {
		return nil, err
	}
	labels, err := c.readPairs(ctx, c.kind.LabelsTable(), uids)
	if err != nil {
		return nil, err
	}
	annotations, err := c.readPairs(ctx, c.kind.AnnotationsTable(), uids)
	if err != nil {
		return nil, err
	}
	out := make([]content, 0, len(page))
	for _, r := range page {
		line, ok := lines[r.UID]
		if !ok {
			continue // purged meanwhile
		}
		line.UID, line.Namespace, line.Name, line.CreateTime = r.UID, r.Namespace, r.Name, r.CreateTime
		line.Incarnation, line.DeleteTime, line.EvictTime = r.Incarnation, r.DeleteTime, r.EvictTime
		line.labels, line.annotations = labels[r.UID], annotations[r.UID]
		out = append(out, line)
	}
	return out, nil
}

// readMain reads the main rows. The version is read again, with the content that belongs to it.
func (c *comparison) readMain(ctx context.Context, uids []string) (map[string]content, error) {
	names := []string{"uid", "res_version", "json", "proto"}
	for _, column := range c.kind.Columns {
		names = append(names, column.Name)
	}
	for i, name := range names {
		names[i] = tables.Quote(name)
	}
	query, args, err := sqlx.In("SELECT "+strings.Join(names, ", ")+" FROM "+tables.Quote(c.kind.Table)+" WHERE uid IN (?)", uids)
	if err != nil {
		return nil, fmt.Errorf("query content: %w", err)
	}
	out := map[string]content{}
	err = database.EachRow(ctx, c.env.DB, query, args, func(r *sql.Rows) error {
		row := content{indexed: make([]sql.NullString, len(c.kind.Columns))}
		var uid string
		var text []byte
		into := []any{&uid, &row.ResVersion, &text, &row.proto}
		for i := range row.indexed {
			into = append(into, &row.indexed[i])
		}
		if err := r.Scan(into...); err != nil {
			return err
		}
		row.object = &unstructured.Unstructured{}
		if err := row.object.UnmarshalJSON(text); err != nil {
			row.object, row.broken = nil, "its JSON is not an object: "+err.Error()
		}
		out[uid] = row
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	return out, nil
}

func (c *comparison) readPairs(ctx context.Context, table string, uids []string) (map[string]map[string]string, error) {
	query, args, err := sqlx.In("SELECT obj_uid, `key`, value FROM "+tables.Quote(table)+" WHERE obj_uid IN (?)", uids)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", table, err)
	}
	var pairs []struct {
		UID   string `db:"obj_uid"`
		Key   string `db:"key"`
		Value string `db:"value"`
	}
	if err := sqlx.NewDb(c.env.DB, "mysql").SelectContext(ctx, &pairs, query, args...); err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	out := map[string]map[string]string{}
	for _, p := range pairs {
		if out[p.UID] == nil {
			out[p.UID] = map[string]string{}
		}
		out[p.UID][p.Key] = p.Value
	}
	return out, nil
}
