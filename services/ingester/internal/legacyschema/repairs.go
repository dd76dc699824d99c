package legacyschema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// objects repairs the rows of the main table until they fit our schema, batch by batch.
// Each statement is idempotent. Text is compared as bytes: in the tables' own collation
// "app" equals "App".
func (r *run) objects(ctx context.Context, f *kindTables) error {
	table := f.kind.Table
	duplicates := &duplicateNames{seen: map[uint64]bool{}}
	seed := maphash.MakeSeed()
	r.progress.start("repairing "+table, r.rows(ctx, table))
	err := r.walk(ctx, table, "uid", "PRIMARY", func(s span) error {
		if statements := append(f.fill(s), f.numbers(s)...); len(statements) > 0 {
			if err := commit(ctx, r.tx, statements...); err != nil {
				return err
			}
		}
		if !f.earlier() {
			return nil
		}
		return r.live(ctx, table, s, func(n name) { duplicates.add(maphash.Comparable(seed, n), n) })
	})
	if err != nil || !f.earlier() {
		return err
	}
	if err := r.closeDuplicates(ctx, f, duplicates); err != nil {
		return err
	}
	r.progress.start("marking evicted rows of "+table, r.rows(ctx, table))
	return r.walk(ctx, table, "uid", "PRIMARY", func(s span) error { return r.markEvicted(ctx, f, s) })
}

// tempIndex is the name of an index that the adoption adds and drops again.
const tempIndex = "flotilla_take_over"

// pairs repairs labels or annotations, of some objects at a time.
func (r *run) pairs(ctx context.Context, table string, have *schema.ActualTable) error {
	index := have.IndexOn("obj_uid")
	if index == "" {
		if _, err := r.tx.ExecContext(ctx, "ALTER TABLE "+schema.Quote(table)+" ADD INDEX "+tempIndex+" (obj_uid)"); err != nil {
			return fmt.Errorf("add index to %s: %w", table, err)
		}
		index = tempIndex
	}
	r.progress.start("repairing "+table, r.rows(ctx, table))
	err := r.walk(ctx, table, "obj_uid", index, func(s span) error {
		uids, err := r.unfit(ctx, table, have, s)
		if err != nil {
			return err
		}
		var statements []statement
		for part := range slices.Chunk(uids, uidsPerStatement) {
			statements = append(statements, pairsOf(table, have, part)...)
		}
		if len(statements) == 0 {
			return nil
		}
		return commit(ctx, r.tx, statements...)
	})
	if err != nil || index != tempIndex {
		return err
	}
	if _, err := r.tx.ExecContext(ctx, "ALTER TABLE "+schema.Quote(table)+" DROP INDEX "+tempIndex); err != nil {
		return fmt.Errorf("drop index of %s: %w", table, err)
	}
	return nil
}

// uidsPerStatement bounds the objects in one statement about labels or annotations.
const uidsPerStatement = 200

// unfit returns the objects in a span whose labels or annotations may need a repair, by one query without a
// sort. Usually they are few. Keys of uids that the table's own collation equates count together, so it may
// return too many objects.
func (r *run) unfit(ctx context.Context, table string, have *schema.ActualTable, s span) (uids []any, err error) {
	var conditions []string
	if have.Has("id") {
		conditions = append(conditions, "COUNT(DISTINCT CAST(`key` AS BINARY)) < COUNT(*)")
	}
	if have.Nullable("value") {
		conditions = append(conditions, "SUM(value IS NULL) > 0")
	}
	if len(conditions) == 0 {
		return nil, nil
	}
	where, args := s.where("")
	query := "SELECT obj_uid FROM " + schema.Quote(table) + " WHERE " + where + " GROUP BY obj_uid HAVING " + strings.Join(conditions, " OR ")
	err = database.EachRow(ctx, r.tx, query, args, func(rows *sql.Rows) error {
		var uid string
		if err := rows.Scan(&uid); err != nil {
			return err
		}
		uids = append(uids, uid)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find rows of %s: %w", table, err)
	}
	return uids, nil
}

// pairsOf returns the repairs of the labels or annotations of some objects.
func pairsOf(table string, have *schema.ActualTable, uids []any) []statement {
	t := schema.Quote(table)
	where, args := "obj_uid IN ("+strings.TrimSuffix(strings.Repeat("?, ", len(uids)), ", ")+")", uids
	var out []statement
	if have.Has("id") {
		ranked := "(SELECT id, ROW_NUMBER() OVER w AS place, FIRST_VALUE(id) OVER w AS newest FROM " + t + " WHERE " + where +
			" WINDOW w AS (PARTITION BY CAST(obj_uid AS BINARY), CAST(`key` AS BINARY) ORDER BY id DESC)) ranked"
		out = append(out,
			statement{noteStatement(table, entry{"o.obj_uid", "''", "''", "CONCAT('duplicate row of key \"', o.`key`, '\" removed, a newer one had another value')", "o.value"},
				ranked+" JOIN "+t+" o ON o.id = ranked.id JOIN "+t+" n ON n.id = ranked.newest"+
					" WHERE ranked.place > 1 AND NOT CAST(o.value AS BINARY) <=> CAST(n.value AS BINARY) ORDER BY o.id"), args},
			// A join: MariaDB runs a subquery of a DELETE once for each row.
			statement{"DELETE o FROM " + t + " o JOIN " + ranked + " ON ranked.id = o.id WHERE ranked.place > 1", args})
	}
	if have.Nullable("value") {
		out = append(out, statement{"UPDATE " + t + " SET value = '' WHERE " + where + " AND value IS NULL", args})
	}
	return out
}

// fill replaces NULL in a NOT NULL column by the value that follows from the other columns
// of the row. The assignments run from left to right and see each other's results.
func (f *kindTables) fill(s span) []statement {
	values := []struct{ column, value string }{
		{"group_ver", "COALESCE(JSON_UNQUOTE(JSON_EXTRACT(json, '$.apiVersion')), '" + api.GroupVersion + "')"},
		{"namespace", "COALESCE(JSON_UNQUOTE(JSON_EXTRACT(json, '$.metadata.namespace')), '')"},
		{"name", "COALESCE(JSON_UNQUOTE(JSON_EXTRACT(json, '$.metadata.name')), '')"},
		{"res_version", "0"},
		{"create_time", "COALESCE(update_time, delete_time, TIMESTAMP'1970-01-01 00:00:00')"},
		{"update_time", "create_time"},
		{"proto", "''"},
		{"json", "JSON_OBJECT('apiVersion', group_ver, 'kind', '" + f.kind.Name + "', 'metadata', JSON_OBJECT('name', name, 'namespace', namespace," +
			" 'uid', uid, 'resourceVersion', CAST(res_version AS CHAR), 'creationTimestamp', DATE_FORMAT(create_time, '%Y-%m-%dT%H:%i:%sZ')))"},
	}
	var set, null, names []string
	for _, v := range values {
		if !f.main.Nullable(v.column) {
			continue
		}
		c := schema.Quote(v.column)
		set = append(set, c+" = IF("+c+" IS NULL, "+v.value+", "+c+")")
		null = append(null, c+" IS NULL")
		names = append(names, "IF("+c+" IS NULL, '"+v.column+"', NULL)")
	}
	if len(set) == 0 {
		return nil
	}
	inSpan, args := s.where("")
	t, where := schema.Quote(f.kind.Table), " WHERE "+inSpan+" AND ("+strings.Join(null, " OR ")+")"
	return []statement{
		{noteStatement(f.kind.Table, entry{
			"uid", "COALESCE(namespace, '')", "COALESCE(name, '')",
			"CONCAT('filled what was NULL: ', CONCAT_WS(', ', " + strings.Join(names, ", ") + "))", "NULL",
		}, t+where+" ORDER BY uid"), args},
		{"UPDATE " + t + " SET " + strings.Join(set, ", ") + where, args},
	}
}

// ranges of the integer columns, and the most digits that can be read without an error.
var ranges = map[string]struct {
	digits   int
	min, max string
}{
	"INT":        {10, "-2147483648", "2147483647"},
	"BIGINT":     {18, "-999999999999999999", "999999999999999999"},
	"TINYINT(1)": {3, "-128", "127"},
}

// numbers sets NULL where text does not fit a column that becomes a number.
func (f *kindTables) numbers(s span) []statement {
	t := schema.Quote(f.kind.Table)
	inSpan, args := s.where("")
	var out []statement
	for _, column := range f.kind.Columns {
		r, ok := ranges[column.SQLType]
		if !ok || !f.main.Text(column.Name) {
			continue
		}
		c := schema.Quote(column.Name)
		where := fmt.Sprintf(" WHERE %s AND %s IS NOT NULL AND NOT IF(%s REGEXP '^-?[0-9]{1,%d}$', CAST(%s AS SIGNED) BETWEEN %s AND %s, FALSE)",
			inSpan, c, c, r.digits, c, r.min, r.max)
		out = append(out,
			statement{noteStatement(f.kind.Table, ofRow("'"+column.Name+" was no number and is NULL now'", c), t+where+" ORDER BY uid"), args},
			statement{"UPDATE " + t + " SET " + c + " = NULL" + where, args})
	}
	return out
}

// closeDuplicates closes all live rows of a namespace and name except the newest.
func (r *run) closeDuplicates(ctx context.Context, f *kindTables, duplicates *duplicateNames) error {
	if len(duplicates.duplicates) == 0 {
		return nil
	}
	t := schema.Quote(f.kind.Table)
	index := f.main.IndexOn("namespace", "name")
	if index == "" {
		index = "idx_namespace_name" // of our schema, which requires it anyway
		if _, err := r.tx.ExecContext(ctx, "ALTER TABLE "+t+" ADD INDEX "+index+" (namespace, name)"); err != nil {
			return fmt.Errorf("add index to %s: %w", f.kind.Table, err)
		}
	}
	return duplicates.chunks(func(where string, args []any) error {
		ranked := "(SELECT uid, namespace, name, ROW_NUMBER() OVER w AS place, FIRST_VALUE(uid) OVER w AS newest FROM " + t +
			" FORCE INDEX (" + schema.Quote(index) + ") WHERE " + where +
			" AND delete_time IS NULL WINDOW w AS (PARTITION BY CAST(namespace AS BINARY), CAST(name AS BINARY)" +
			" ORDER BY create_time DESC, res_version DESC, CAST(uid AS BINARY) DESC)) rivals"
		return commit(ctx, r.tx,
			statement{noteStatement(f.kind.Table, ofRow("CONCAT('closed: the row of uid ', newest, ' is newer and was live as well')", "NULL"),
				ranked+" WHERE place > 1 ORDER BY uid"), args},
			statement{"UPDATE " + t + " o JOIN " + ranked + " ON rivals.uid = o.uid SET o.delete_time = UTC_TIMESTAMP(6), o.update_time = UTC_TIMESTAMP(6)" +
				" WHERE rivals.place > 1", args})
	})
}

// markEvicted marks the live rows whose objects may have been evicted, and adds their
// number to the note about them.
func (r *run) markEvicted(ctx context.Context, f *kindTables, s span) error {
	t, annotations := schema.Quote(f.kind.Table), schema.Quote(f.kind.AnnotationsTable())
	inSpan, args := s.where("o.")
	from, reason := t+" o", "the kind is immutable"
	where := " WHERE " + inSpan + " AND o.delete_time IS NULL AND o.evict_time IS NULL"
	if !f.kind.Immutable {
		reason = "they have the annotation " + api.ImmutableAnnotation
		// The table of annotations already has its final shape.
		from += " JOIN " + annotations + " a ON a.obj_uid = CONVERT(o.uid USING utf8mb4) COLLATE utf8mb4_bin" +
			" AND a.`key` = '" + api.ImmutableAnnotation + "' AND a.value = '" + api.AnnotationTrue + "'"
	}
	var n int
	if err := r.tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+from+where, args...).Scan(&n); err != nil {
		return fmt.Errorf("count evicted rows of %s: %w", f.kind.Table, err)
	}
	if n == 0 {
		return nil
	}
	text := " live rows marked as evicted, since " + reason
	notes := schema.Quote(schema.AdoptionTable)
	var previousCount int
	var previousID sql.NullInt64
	err := r.tx.QueryRowContext(ctx, "SELECT id, CAST(SUBSTRING_INDEX(note, ' ', 1) AS SIGNED) FROM "+notes+
		" WHERE table_name = ? AND uid = '' AND note LIKE ? ORDER BY id DESC LIMIT 1", f.kind.Table, "%"+text).Scan(&previousID, &previousCount)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read note about %s: %w", f.kind.Table, err)
	}
	add := statement{noteStatement(f.kind.Table, entry{"''", "''", "''", "CONCAT(?, ?)", "NULL"}, "DUAL"), []any{n, text}}
	if previousID.Valid {
		add = statement{"UPDATE " + notes + " SET note = CONCAT(?, ?) WHERE id = ?", []any{previousCount + n, text, previousID.Int64}}
	}
	return commit(ctx, r.tx, add, statement{"UPDATE " + from + " SET o.evict_time = o.update_time" + where, args})
}

// entry is the entry of a row in taken_over, as SQL expressions.
type entry struct {
	uid, namespace, name string
	text                 string // the repair that was made
	oldValue             string // the value that is lost
}

// ofRow returns an entry about a row of a main table.
func ofRow(text, oldValue string) entry {
	return entry{uid: "uid", namespace: "namespace", name: "name", text: text, oldValue: oldValue}
}

// noteStatement returns the statement that records rows of a table in taken_over; from is the text after FROM.
func noteStatement(table string, e entry, from string) string {
	return "INSERT INTO " + schema.Quote(schema.AdoptionTable) + " (table_name, uid, namespace, name, note, was, noted_at)" +
		" SELECT '" + table + "', " + strings.Join([]string{e.uid, e.namespace, e.name, e.text, e.oldValue}, ", ") + ", UTC_TIMESTAMP(6) FROM " + from
}

func firstLine(statement string) string {
	line, _, _ := strings.Cut(statement, "\n")
	const maxLength = 80
	if len(line) > maxLength {
		line = line[:maxLength] + "..."
	}
	return line
}
