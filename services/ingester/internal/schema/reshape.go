package schema

import (
	"maps"
	"slices"
	"strings"
)

// Reshape renders the one ALTER TABLE that turns a table into the desired one, or nothing if
// there is no difference. Extra columns keep their content; those that every insert must set
// become NULL. Indexes stay, except those of an earlier installation that one of ours replaces
// (see [replaced]).
//
// Rows must fit: no NULL in columns that become NOT NULL, no duplicates under a new unique index.
func Reshape(want Table, have *ActualTable) string {
	var changes []string
	for _, c := range want.Columns {
		switch got, ok := have.columns[c.Name]; {
		case !ok:
			changes = append(changes, "ADD COLUMN "+exactDDL(c))
		case got.difference(c) != "":
			changes = append(changes, "MODIFY COLUMN "+exactDDL(c))
		}
	}
	for _, name := range have.requiredExtraColumns(want) {
		changes = append(changes, "MODIFY COLUMN "+Quote(name)+" "+have.columns[name].definition+" NULL")
	}
	for _, k := range want.Keys {
		got, ok := have.keys[k.Name]
		if ok && slices.Equal(got.columns, k.Columns) && got.unique == k.Unique {
			continue
		}
		if ok {
			changes = append(changes, dropKey(k.Name))
		}
		changes = append(changes, "ADD "+keyDDL(k))
	}
	for _, name := range replaced(want, have) {
		changes = append(changes, dropKey(name))
	}
	if len(changes) == 0 {
		return ""
	}
	return "ALTER TABLE " + Quote(want.Name) + " DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,\n  " + strings.Join(changes, ",\n  ")
}

// AddMissing renders an ALTER TABLE that adds the columns that a table lacks, except the
// named ones, all of them NULL at first; or nothing.
func AddMissing(want Table, have *ActualTable, except ...string) string {
	var changes []string
	for _, c := range want.Columns {
		if have.Has(c.Name) || slices.Contains(except, c.Name) || strings.Contains(c.Attributes, "AUTO_INCREMENT") {
			continue
		}
		changes = append(changes, "ADD COLUMN "+exactDDL(Column{c.Name, c.Type, "NULL"}))
	}
	if len(changes) == 0 {
		return ""
	}
	return "ALTER TABLE " + Quote(want.Name) + " " + strings.Join(changes, ", ")
}

// replaced lists the indexes of an earlier installation, whose names begin with the
// table's, that cover no more than the beginning of one of ours.
func replaced(want Table, have *ActualTable) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(have.keys)) {
		key := have.keys[name]
		if key.unique || !strings.HasPrefix(name, want.Name+"_") {
			continue
		}
		if slices.ContainsFunc(want.Keys, func(k Key) bool { return hasPrefix(k.Columns, key.columns) && k.Name != name }) {
			out = append(out, name)
		}
	}
	return out
}

func hasPrefix(columns, with []string) bool {
	return len(columns) >= len(with) && slices.Equal(columns[:len(with)], with)
}

// exactDDL includes character set and collation, so that the default of the table does not matter.
func exactDDL(c Column) string {
	if isText(c) {
		c.Type += " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	}
	return columnDDL(c)
}

func dropKey(name string) string {
	if name == primary {
		return "DROP PRIMARY KEY"
	}
	return "DROP KEY " + Quote(name)
}
