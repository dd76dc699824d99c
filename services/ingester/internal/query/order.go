package query

import (
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// key is one sort field. The last key of an order is always the uid, so that no two objects are
// equal.
type key struct {
	Field
	desc bool
}

// parseOrder reads an order; the default is the newest first. Absent values come before all
// others, so last in a descending order, on both servers.
func parseOrder(kind *registry.Kind, orders []storage.OrderBy) ([]key, error) {
	if len(orders) == 0 {
		orders = []storage.OrderBy{{Field: "create_time", Dir: storage.SortDesc}}
	}
	if len(orders) > maxOrder {
		return nil, invalid("order has %d fields, more than %d", len(orders), maxOrder)
	}
	var keys []key
	seen := map[string]bool{}
	for _, o := range orders {
		f, err := find(kind, o.Field)
		if err != nil {
			return nil, err
		}
		if o.Dir < storage.SortInvalid || o.Dir > storage.SortDesc {
			return nil, invalid("order by %q: unknown direction %d", o.Field, o.Dir)
		}
		if seen[f.Column] {
			return nil, invalid("order by %q: the field is named twice", o.Field)
		}
		seen[f.Column] = true
		keys = append(keys, key{Field: *f, desc: o.Dir == storage.SortDesc})
		if f.Column == "uid" {
			return keys, nil // further fields could not change the order
		}
	}
	// In the direction of the last field, so that its index, which ends in the uid, serves both.
	return append(keys, key{Field: uidField(), desc: keys[len(keys)-1].desc}), nil
}

func uidField() Field {
	for _, f := range base {
		if f.Column == "uid" {
			return f
		}
	}
	return Field{Column: "uid"}
}

// orderBy renders the order of rows behind an alias.
func orderBy(keys []key, alias string) string {
	parts := make([]string, 0, len(keys))
	for _, k := range keys {
		part := k.sql(alias)
		if k.desc {
			part += " DESC"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// afterValues returns the condition for rows after the given values in the order.
func afterValues(keys []key, values []any, alias string) clause {
	var cases []clause
	for i := range keys {
		var all []clause
		for j := range i {
			all = append(all, keys[j].equal(values[j], alias))
		}
		cases = append(cases, join(" AND ", append(all, keys[i].after(values[i], alias))))
	}
	return join(" OR ", cases)
}

func (k *key) equal(v any, alias string) clause {
	if v == nil {
		return clause{k.sql(alias) + " IS NULL", nil}
	}
	return clause{k.sql(alias) + " = ?", []any{v}}
}

func (k *key) after(v any, alias string) clause {
	column := k.sql(alias)
	switch {
	case v == nil && k.desc:
		return clause{"FALSE", nil}
	case v == nil:
		return clause{column + " IS NOT NULL", nil}
	case k.desc && k.Nullable:
		return clause{"(" + column + " < ? OR " + column + " IS NULL)", []any{v}}
	case k.desc:
		return clause{column + " < ?", []any{v}}
	default:
		return clause{column + " > ?", []any{v}}
	}
}

// Indexes of all kinds. The live ones have only the live rows before a position in the order of creation.
const (
	namespaceIndex     = "idx_namespace_name"
	liveIndex          = "idx_delete_time_create_time"
	liveNamespaceIndex = "idx_namespace_delete_time_create_time"
)

// orderIndex returns the index in that order, or "".
func (p *Plan) orderIndex() string {
	last := len(p.keys) - 1
	var columns []string
	for _, k := range p.keys[:last] {
		if k.desc != p.keys[last].desc {
			return ""
		}
		columns = append(columns, k.Column)
	}
	requested := strings.Join(columns, ",")
	switch {
	case requested == "create_time" && p.namespace != "":
		return liveNamespaceIndex
	case requested == "create_time":
		return liveIndex
	case requested == "namespace,name", requested == "name" && p.namespace != "":
		return namespaceIndex
	}
	for _, k := range p.kind.Keys {
		if strings.Join(k.Columns, ",") == requested {
			return k.Name
		}
	}
	return ""
}
