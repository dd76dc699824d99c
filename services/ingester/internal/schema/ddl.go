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
	return ifMissing("columns", table, "column_name", c.Name, "ADD COLUMN "+columnDDL(c))
}

// AddKey renders statements that add an index unless it is there.
func AddKey(table string, k Key) string {
	return ifMissing("statistics", table, "index_name", k.Name, "ADD "+keyDDL(k))
}

// ifMissing reads information_schema first: only MariaDB supports ADD COLUMN IF NOT EXISTS.
func ifMissing(view, table, nameColumn, name, change string) string {
	alter := fmt.Sprintf("ALTER TABLE %s %s", Quote(table), change)
	return fmt.Sprintf(`SET @ddl = IF((SELECT COUNT(*) FROM information_schema.%s
  WHERE table_schema = DATABASE() AND table_name = '%s' AND %s = '%s') = 0,
  '%s', 'DO 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl`, view, table, nameColumn, name, strings.ReplaceAll(alter, "'", "''"))
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
