package schema

import (
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Column is one column of a table.
type Column struct {
	Name       string
	Type       string // as in information_schema, in upper case: "VARCHAR(64)"
	Attributes string // "NOT NULL", "NULL", "NOT NULL AUTO_INCREMENT", ...
}

// Key is an index of a table. The primary key has the name PRIMARY.
type Key struct {
	Name    string
	Unique  bool
	Columns []string
}

// Table is one table.
type Table struct {
	Name    string
	Columns []Column
	Keys    []Key
}

// Shared tables.
const (
	OutboxTable       = "outbox"
	IncarnationTable  = "incarnation"
	AdoptionTable     = "taken_over"
	CheckpointTable   = "checkpoint"
	InstallationTable = "installation"
)

// Tables lists all tables: three for each kind in the order of the registry, then the shared ones.
func Tables(r *registry.Registry) []Table {
	var out []Table
	for _, kind := range r.Kinds() {
		out = append(out, MainTable(kind), LabelsTable(kind), AnnotationsTable(kind))
	}
	return append(out, outboxTable(), incarnationTable(), adoptionTable(), checkpointTable(), installationTable())
}

// MainTable describes the table of a kind's objects.
func MainTable(kind *registry.Kind) Table {
	t := Table{
		Name: kind.Table,
		Columns: []Column{
			{"uid", "VARCHAR(64)", "NOT NULL"},
			{"group_ver", "VARCHAR(128)", "NOT NULL"},
			{"namespace", "VARCHAR(256)", "NOT NULL"},
			{"name", "VARCHAR(256)", "NOT NULL"},
			{"res_version", "BIGINT", "NOT NULL"},
			{"incarnation", "BIGINT", "NOT NULL DEFAULT 0"},
			{"create_time", "DATETIME(6)", "NOT NULL"},
			{"update_time", "DATETIME(6)", "NOT NULL"},
			{"delete_time", "DATETIME(6)", "NULL"},
			{"evict_time", "DATETIME(6)", "NULL"},
			{"proto", "LONGBLOB", "NOT NULL"},
			{"json", "JSON", "NOT NULL"},
		},
		Keys: []Key{
			{Name: primary, Unique: true, Columns: []string{"uid"}},
			{Name: "idx_namespace_name", Columns: []string{"namespace", "name"}},
			{Name: "idx_delete_time", Columns: []string{"delete_time"}}, // for live rows in the order of their uids
			{Name: "idx_create_time", Columns: []string{"create_time"}},
			// For sweeps, which must not read closed or evicted rows, and for lists in the order of creation.
			{Name: "idx_delete_time_evict_time", Columns: []string{"delete_time", "evict_time"}},
			{Name: "idx_delete_time_create_time", Columns: []string{"delete_time", "create_time"}},
			{Name: "idx_namespace_delete_time_create_time", Columns: []string{"namespace", "delete_time", "create_time"}},
		},
	}
	for _, c := range kind.Columns {
		t.Columns = append(t.Columns, Column{c.Name, c.SQLType, "NULL"})
	}
	for _, k := range kind.Keys {
		t.Keys = append(t.Keys, Key{Name: k.Name, Columns: k.Columns})
	}
	return t
}

const primary = "PRIMARY"

// LabelsTable describes the table of the labels of a kind's objects.
func LabelsTable(kind *registry.Kind) Table {
	return pairsTable(kind.LabelsTable(), Column{"value", "VARCHAR(63)", "NOT NULL"},
		Key{Name: "idx_key_value", Columns: []string{"key", "value"}})
}

// AnnotationsTable describes the table of the annotations of a kind's objects.
func AnnotationsTable(kind *registry.Kind) Table {
	return pairsTable(kind.AnnotationsTable(), Column{"value", "MEDIUMTEXT", "NOT NULL"})
}

func pairsTable(name string, value Column, keys ...Key) Table {
	return Table{
		Name: name,
		Columns: []Column{
			{"id", "BIGINT", "NOT NULL AUTO_INCREMENT"},
			{"obj_uid", "VARCHAR(64)", "NOT NULL"},
			{"key", "VARCHAR(317)", "NOT NULL"},
			value,
		},
		Keys: append([]Key{
			{Name: primary, Unique: true, Columns: []string{"id"}},
			{Name: "idx_obj_uid_key", Unique: true, Columns: []string{"obj_uid", "key"}},
		}, keys...),
	}
}

func outboxTable() Table {
	return Table{
		Name: OutboxTable,
		Columns: []Column{
			{"id", "BIGINT", "NOT NULL AUTO_INCREMENT"},
			{"kind", "VARCHAR(63)", "NOT NULL"},
			{"namespace", "VARCHAR(256)", "NOT NULL"},
			{"name", "VARCHAR(256)", "NOT NULL"},
			{"uid", "VARCHAR(64)", "NOT NULL"},
			{"generation", "BIGINT", "NOT NULL"},
			{"res_version", "BIGINT", "NOT NULL"},
			{"operation", "VARCHAR(16)", "NOT NULL"},
			{"committed_at", "DATETIME(6)", "NOT NULL"},
			{"traceparent", "VARCHAR(64)", "NOT NULL DEFAULT ''"},
		},
		Keys: []Key{
			{Name: primary, Unique: true, Columns: []string{"id"}},
			{Name: "idx_uid", Columns: []string{"uid"}},   // for the purge, also while the bus is down
			{Name: "idx_kind", Columns: []string{"kind"}}, // for the relay while a kind is held; InnoDB appends the id
		},
	}
}

func incarnationTable() Table {
	return Table{
		Name: IncarnationTable,
		Columns: []Column{
			{"cluster_uid", "VARCHAR(64)", "NOT NULL"},
			{"incarnation", "BIGINT", "NOT NULL"},
			{"raised_at", "DATETIME(6)", "NOT NULL"},
		},
		Keys: []Key{{Name: primary, Unique: true, Columns: []string{"cluster_uid"}}},
	}
}

// adoptionTable records the changes to rows of an earlier installation; see package legacyschema.
func adoptionTable() Table {
	return Table{
		Name: AdoptionTable,
		Columns: []Column{
			{"id", "BIGINT", "NOT NULL AUTO_INCREMENT"},
			{"table_name", "VARCHAR(64)", "NOT NULL"},
			{"uid", "VARCHAR(64)", "NOT NULL DEFAULT ''"},
			{"namespace", "VARCHAR(256)", "NOT NULL DEFAULT ''"},
			{"name", "VARCHAR(256)", "NOT NULL DEFAULT ''"},
			{"note", "VARCHAR(1024)", "NOT NULL"},
			{"was", "MEDIUMTEXT", "NULL"},
			{"noted_at", "DATETIME(6)", "NOT NULL"},
		},
		Keys: []Key{{Name: primary, Unique: true, Columns: []string{"id"}}},
	}
}

// checkpointTable counts evictions; see package checkpoint. A dump contains it before the
// tables of most kinds, whose rows it describes.
func checkpointTable() Table {
	return Table{
		Name: CheckpointTable,
		Columns: []Column{
			{"id", "BIGINT", "NOT NULL"},
			{"number", "BIGINT", "NOT NULL"},
		},
		Keys: []Key{{Name: primary, Unique: true, Columns: []string{"id"}}},
	}
}

// installationTable records the cluster of the database; see package installation.
func installationTable() Table {
	return Table{
		Name: InstallationTable,
		Columns: []Column{
			{"id", "BIGINT", "NOT NULL"},
			{"cluster_name", "VARCHAR(253)", "NOT NULL"},
			{"recorded_at", "DATETIME(6)", "NOT NULL"},
		},
		Keys: []Key{{Name: primary, Unique: true, Columns: []string{"id"}}},
	}
}
