package verify

import (
	"context"
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// names finds names that several rows have. It keeps hashes: the rows of a name that is found by mistake are read once.
type names struct {
	seed  maphash.Seed
	seen  map[uint64]struct{}
	again map[types.NamespacedName]struct{}
}

func newNames() *names {
	return &names{seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}, again: map[types.NamespacedName]struct{}{}}
}

func (n *names) add(r rows.Row) {
	name := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
	hash := maphash.Comparable(n.seed, name)
	if _, found := n.seen[hash]; found {
		n.again[name] = struct{}{}
	}
	n.seen[hash] = struct{}{}
}

// duplicates reports the rows of the names except the newest of each, if several are live.
func (c *comparison) duplicates(ctx context.Context, n *names) error {
	for name := range n.again {
		older, newest, err := c.liveRowsOf(ctx, name.Namespace, name.Name)
		if err != nil {
			return err
		}
		for _, r := range older {
			c.candidates = append(c.candidates, c.duplicate(r, newest))
		}
	}
	return nil
}

func (c *comparison) duplicate(r, newest *rows.Row) candidate {
	return candidate{Difference: c.difference(nil, r, finding{Duplicate, "same name as " + newest.UID, describeRow(r)})}
}

// liveRowsOf returns the live rows of a name except the newest, and the newest, nil without a row.
func (c *comparison) liveRowsOf(ctx context.Context, namespace, name string) (older []*rows.Row, newest *rows.Row, err error) {
	query := rows.Query{State: rows.Open, Namespaces: []string{namespace}, Names: []string{name}}
	page, err := rows.Page(ctx, c.env.DB, c.kind, query)
	if err != nil || len(page) == 0 {
		return nil, nil, err
	}
	for i := range page {
		r := &page[i]
		switch {
		case newest == nil:
			newest = r
		case r.Incarnation > newest.Incarnation || (r.Incarnation == newest.Incarnation && r.ResVersion > newest.ResVersion):
			older, newest = append(older, newest), r
		default:
			older = append(older, r)
		}
	}
	return older, newest, nil
}
