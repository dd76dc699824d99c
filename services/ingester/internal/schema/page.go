package schema

import (
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Page renders the documentation of the kinds and their indexed columns.
func Page(r *registry.Registry) []byte {
	var b strings.Builder
	b.WriteString("<!-- Generated from proto/ by go generate. Do not edit. -->\n# Kinds, tables and indexed columns\n")
	b.WriteString("\nEvery kind has the tables `<table>`, `<table>_labels` and `<table>_annotations`; a live row has `delete_time IS NULL`.\n")
	for _, kind := range r.Kinds() {
		fmt.Fprintf(&b, "\n## %s\n\n%s Table `%s`, resource `%s.%s`.\n", kind.Name, kind.Description, kind.Table, kind.Plural, kind.GVK().Group)
		if kind.Immutable {
			b.WriteString("\nImmutable by kind: evicted after the first sync when the ingester runs with `--evict-immutable-kinds`.\n")
		}
		if len(kind.Columns) == 0 {
			continue
		}
		b.WriteString("\n| column | type | field |\n|---|---|---|\n")
		for _, c := range kind.Columns {
			fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", c.Name, c.SQLType, c.ProtoPath)
		}
	}
	return []byte(b.String())
}
