package takeover

import (
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// repairs returns the statements that make the rows fit our schema. Each does
// nothing when it has been done. Text is compared as bytes: the tables' own
// collation takes "app" and "App" for the same.
func (f *found) repairs() []string {
	var out []string
	out = append(out, pairs(f.kind.LabelsTable(), f.labels)...)
	out = append(out, pairs(f.kind.AnnotationsTable(), f.annotations)...)
	out = append(out, f.fill()...)
	out = append(out, f.numbers()...)
	if f.earlier() {
		out = append(out, f.closeRivals()...)
		out = append(out, f.markEvicted()...)
	}
	return out
}

// pairs repairs labels or annotations.
func pairs(table string, have *schema.Found) []string {
	t := schema.Quote(table)
	var out []string
	if have.Has("id") {
		ranked := "(SELECT id, ROW_NUMBER() OVER w AS place, FIRST_VALUE(id) OVER w AS newest FROM " + t +
			" WINDOW w AS (PARTITION BY CAST(obj_uid AS BINARY), CAST(`key` AS BINARY) ORDER BY id DESC)) ranked"
		out = append(out,
			note(table, entry{"o.obj_uid", "''", "''", "CONCAT('duplicate row of key \"', o.`key`, '\" removed, a newer one had another value')", "o.value"},
				ranked+" JOIN "+t+" o ON o.id = ranked.id JOIN "+t+" n ON n.id = ranked.newest"+
					" WHERE ranked.place > 1 AND NOT CAST(o.value AS BINARY) <=> CAST(n.value AS BINARY) ORDER BY o.id"),
			"DELETE FROM "+t+" WHERE id IN (SELECT id FROM "+ranked+" WHERE place > 1)")
	}
	if have.Nullable("value") {
		out = append(out, "UPDATE "+t+" SET value = '' WHERE value IS NULL")
	}
	return out
}

// fill puts what the rest of the row says where a column holds NULL and must not.
// The assignments run from left to right and see each other's results.
func (f *found) fill() []string {
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
	t, where := schema.Quote(f.kind.Table), " WHERE "+strings.Join(null, " OR ")
	return []string{
		note(f.kind.Table, entry{
			"uid", "COALESCE(namespace, '')", "COALESCE(name, '')",
			"CONCAT('filled what was NULL: ', CONCAT_WS(', ', " + strings.Join(names, ", ") + "))", "NULL",
		}, t+where+" ORDER BY uid"),
		"UPDATE " + t + " SET " + strings.Join(set, ", ") + where,
	}
}

// ranges of the integer columns, and the most digits that can be read without an error.
var ranges = map[string]struct {
	digits      int
	least, most string
}{
	"INT":        {10, "-2147483648", "2147483647"},
	"BIGINT":     {18, "-999999999999999999", "999999999999999999"},
	"TINYINT(1)": {3, "-128", "127"},
}

// numbers sets NULL where text does not fit a column that becomes a number.
func (f *found) numbers() []string {
	t := schema.Quote(f.kind.Table)
	var out []string
	for _, column := range f.kind.Columns {
		r, ok := ranges[column.SQLType]
		if !ok || !f.main.Text(column.Name) {
			continue
		}
		c := schema.Quote(column.Name)
		where := fmt.Sprintf(" WHERE %s IS NOT NULL AND NOT IF(%s REGEXP '^-?[0-9]{1,%d}$', CAST(%s AS SIGNED) BETWEEN %s AND %s, FALSE)",
			c, c, r.digits, c, r.least, r.most)
		out = append(out,
			note(f.kind.Table, ofRow("'"+column.Name+" was no number and is NULL now'", c), t+where+" ORDER BY uid"),
			"UPDATE "+t+" SET "+c+" = NULL"+where)
	}
	return out
}

// closeRivals closes all live rows of a namespace and name but the newest.
func (f *found) closeRivals() []string {
	t := schema.Quote(f.kind.Table)
	rivals := "(SELECT uid, namespace, name, ROW_NUMBER() OVER w AS place, FIRST_VALUE(uid) OVER w AS newest FROM " + t +
		" WHERE delete_time IS NULL WINDOW w AS (PARTITION BY CAST(namespace AS BINARY), CAST(name AS BINARY)" +
		" ORDER BY create_time DESC, res_version DESC, CAST(uid AS BINARY) DESC)) rivals"
	return []string{
		note(f.kind.Table, ofRow("CONCAT('closed: the row of uid ', newest, ' is newer and was live as well')", "NULL"),
			rivals+" WHERE place > 1 ORDER BY uid"),
		"UPDATE " + t + " SET delete_time = UTC_TIMESTAMP(6), update_time = UTC_TIMESTAMP(6)" +
			" WHERE uid IN (SELECT uid FROM " + rivals + " WHERE place > 1)",
	}
}

// markEvicted marks the live rows whose objects may have left the cluster on purpose.
func (f *found) markEvicted() []string {
	t := schema.Quote(f.kind.Table)
	where := " WHERE delete_time IS NULL AND evict_time IS NULL"
	why := "the kind is immutable"
	if !f.kind.Immutable {
		why = "they have the annotation " + api.ImmutableAnnotation
		where += " AND uid IN (SELECT obj_uid FROM " + schema.Quote(f.kind.AnnotationsTable()) +
			" WHERE CAST(`key` AS BINARY) = '" + api.ImmutableAnnotation + "' AND CAST(value AS BINARY) = '" + api.AnnotationTrue + "')"
	}
	return []string{
		note(f.kind.Table, entry{"''", "''", "''", "CONCAT(COUNT(*), ' live rows marked as evicted, since " + why + "')", "NULL"}, t+where+" HAVING COUNT(*) > 0"),
		"UPDATE " + t + " SET evict_time = update_time" + where,
	}
}

// entry is what taken_over says of a row, in SQL expressions.
type entry struct {
	uid, namespace, name string
	text                 string // what was done
	was                  string // the value that is lost
}

// ofRow is an entry about a row of a main table.
func ofRow(text, was string) entry {
	return entry{uid: "uid", namespace: "namespace", name: "name", text: text, was: was}
}

// note lists rows of a table in taken_over; from is what follows FROM.
func note(table string, e entry, from string) string {
	return "INSERT INTO " + schema.Quote(schema.TakenOverTable) + " (table_name, uid, namespace, name, note, was, noted_at)" +
		" SELECT '" + table + "', " + strings.Join([]string{e.uid, e.namespace, e.name, e.text, e.was}, ", ") + ", UTC_TIMESTAMP(6) FROM " + from
}

func firstLine(statement string) string {
	line, _, _ := strings.Cut(statement, "\n")
	const longest = 80
	if len(line) > longest {
		line = line[:longest] + "..."
	}
	return line
}
