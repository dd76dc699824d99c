package schema

import (
	"fmt"
	"strings"
)

// tableOptions are named in every CREATE: the defaults of MySQL and MariaDB differ.
const tableOptions = "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"

// Quote quotes an identifier.
func Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Create renders a CREATE TABLE statement that can be run again, without a final semicolon.
func Create(t Table) string {
	var lines []string
	for _, c := range t.Columns {
		lines = append(lines, "  "+columnDDL(c))
	}
	for _, k := range t.Keys {
		lines = append(lines, "  "+keyDDL(k))
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (\n%s\n) %s", Quote(t.Name), strings.Join(lines, ",\n"), tableOptions)
}

// AddColumn renders statements that add a column unless it is there.
func AddColumn(table string, c Column) string {
	return alter(table, ifMissing("columns", table, "column_name", c.Name, "ADD COLUMN "+columnDDL(c)))
}

// AddKeys renders statements that add the indexes that are not there. One ALTER TABLE adds all of them, since each one reads
// the whole table.
func AddKeys(table string, keys []Key) string {
	changes := make([]string, 0, len(keys))
	for _, k := range keys {
		changes = append(changes, ifMissing("statistics", table, "index_name", k.Name, "ADD "+keyDDL(k)))
	}
	return alter(table, changes...)
}

// alter renders statements that apply those of the changes that are not NULL.
func alter(table string, changes ...string) string {
	return fmt.Sprintf(`SET @changes = CONCAT_WS(', ',
  %s);
SET @ddl = IF(@changes = '', 'DO 0', CONCAT('ALTER TABLE %s ', @changes));
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl`, strings.Join(changes, ",\n  "), Quote(table))
}

// ifMissing renders a change as a string, or NULL if its object is there. It reads information_schema, since only MariaDB
// supports ADD COLUMN IF NOT EXISTS.
func ifMissing(view, table, nameColumn, name, change string) string {
	return fmt.Sprintf("IF(EXISTS (SELECT 1 FROM information_schema.%s\n"+
		"    WHERE table_schema = DATABASE() AND table_name = '%s' AND %s = '%s'), NULL,\n    '%s')",
		view, table, nameColumn, name, strings.ReplaceAll(change, "'", "''"))
}

func columnDDL(c Column) string { return fmt.Sprintf("%s %s %s", Quote(c.Name), c.Type, c.Attributes) }

func keyDDL(k Key) string {
	columns := make([]string, 0, len(k.Columns))
	for _, c := range k.Columns {
		columns = append(columns, Quote(c))
	}
	list := "(" + strings.Join(columns, ", ") + ")"
	switch {
	case k.Name == primary:
		return "PRIMARY KEY " + list
	case k.Unique:
		return "UNIQUE KEY " + Quote(k.Name) + " " + list
	default:
		return "KEY " + Quote(k.Name) + " " + list
	}
}
