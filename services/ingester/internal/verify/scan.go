package verify

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// uidsPerQuery bounds the uids in one query.
const uidsPerQuery = 500

// scan compares all rows and objects once. It lists the objects first: an object that is
// created meanwhile appears as an orphan, and the next comparison finds the object.
func (c *comparison) scan(ctx context.Context) error {
	objects, err := c.objects(ctx)
	if err != nil {
		return err
	}
	c.counts.Objects = len(objects)
	unmatched, names := maps.Clone(objects), newNames()
	err = rows.Each(ctx, c.env.DB, c.kind, rows.Query{State: rows.Open, Namespaces: c.namespaces}, func(r rows.Row) error {
		names.add(r)
		if r.Evicted() {
			c.counts.Evicted++
		} else {
			c.counts.Rows++
		}
		var o *object
		if match, ok := objects[r.UID]; ok {
			o = &match
			delete(unmatched, r.UID)
		}
		c.addDifferences(o, &r)
		return nil
	})
	if err != nil {
		return err
	}
	closed, err := c.rowsOf(ctx, slices.Sorted(maps.Keys(unmatched)))
	if err != nil {
		return err
	}
	for uid, o := range unmatched {
		c.addDifferences(&o, closed[uid])
	}
	return c.duplicates(ctx, names)
}

// addDifferences adds the differences of an object and its row to the candidates.
func (c *comparison) addDifferences(o *object, r *rows.Row) {
	want := c.expectation()
	if o != nil {
		want.minVersion = o.version
	}
	for _, f := range diff(o, r, want) {
		c.candidates = append(c.candidates, candidate{c.difference(o, r, f), want.minVersion})
	}
}

func (c *comparison) expectation() expectation {
	want := expectation{incarnation: c.incarnation}
	if c.options.TerminatingThreshold > 0 {
		want.overdue = c.env.Clock.Now().Add(-c.options.TerminatingThreshold)
	}
	return want
}

func (c *comparison) difference(o *object, r *rows.Row, f finding) Difference {
	d := Difference{Kind: c.kind.Name, Type: f.diffType, Cluster: f.cluster, Storage: f.storage}
	if o != nil {
		d.UID, d.Namespace, d.Name = o.uid, o.namespace, o.name
	} else {
		d.UID, d.Namespace, d.Name = r.UID, r.Namespace, r.Name
	}
	return d
}

// rowsOf reads the rows of some uids in any state.
func (c *comparison) rowsOf(ctx context.Context, uids []string) (map[string]*rows.Row, error) {
	out := map[string]*rows.Row{}
	for part := range slices.Chunk(uids, uidsPerQuery) {
		page, err := rows.Page(ctx, c.env.DB, c.kind, rows.Query{UIDs: part, Limit: len(part)})
		if err != nil {
			return nil, err
		}
		for i := range page {
			out[page[i].UID] = &page[i]
		}
	}
	return out, nil
}

// relistThreshold is the number of candidates above which all objects are listed again.
const relistThreshold = 200

// recheck drops the candidates that no longer differ.
func (c *comparison) recheck(ctx context.Context) error {
	read := c.object
	if len(c.candidates) > relistThreshold {
		objects, err := c.objects(ctx)
		if err != nil {
			return err
		}
		read = func(_ context.Context, _, _, uid string) (*object, error) {
			if o, ok := objects[uid]; ok {
				return &o, nil
			}
			return nil, nil // no such object
		}
	}
	uids := make([]string, 0, len(c.candidates))
	for _, x := range c.candidates {
		uids = append(uids, x.UID)
	}
	current := map[string]*object{}
	for _, x := range c.candidates {
		o, err := read(ctx, x.Namespace, x.Name, x.UID)
		if err != nil {
			return err
		}
		current[x.UID] = o
	}
	slices.Sort(uids)
	rowsByUID, err := c.rowsOf(ctx, slices.Compact(uids))
	if err != nil {
		return err
	}
	var remaining []candidate
	for _, x := range c.candidates {
		confirmed, err := c.recheckOne(ctx, x, current[x.UID], rowsByUID[x.UID])
		if err != nil {
			return err
		}
		remaining = append(remaining, confirmed...)
	}
	c.candidates = remaining
	return nil
}

// recheckOne compares a candidate again. A row that has reached the version of the first list
// follows the cluster, so it is not stale.
func (c *comparison) recheckOne(ctx context.Context, x candidate, o *object, r *rows.Row) ([]candidate, error) {
	switch x.Type {
	case Duplicate:
		older, newest, err := c.liveRowsOf(ctx, x.Namespace, x.Name)
		for _, old := range older {
			if old.UID == x.UID {
				return []candidate{c.duplicate(old, newest)}, nil
			}
		}
		return nil, err
	case Content:
		return c.recheckContent(ctx, x, o, r)
	default: // compared like any row
	}
	want := c.expectation()
	want.minVersion = x.minVersion
	var out []candidate
	for _, f := range diff(o, r, want) {
		if equalAspect(f.diffType, x.Type) {
			out = append(out, candidate{c.difference(o, r, f), x.minVersion})
		}
	}
	return out, nil
}

// equalAspect reports whether two differences concern the same aspect. The difference between an
// object and its row may change between comparisons; the finalizer has candidates of its own.
func equalAspect(a, b DifferenceType) bool {
	separate := func(w DifferenceType) bool { return w == Finalizer || w == Terminating }
	return a == b || (!separate(a) && !separate(b))
}

// defaultTerminatingThreshold is the time after which an object that is terminating with our finalizer is reported.
const defaultTerminatingThreshold = 10 * time.Minute
