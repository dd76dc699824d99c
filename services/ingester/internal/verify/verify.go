package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/cmdutil"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Env holds the dependencies of the comparison: Client, DB, Kinds, Clock and Log; a repair needs Store too.
type Env = cmdutil.Env

// What names a difference between an object and its row.
type What string

// Differences.
const (
	Missing     What = "missing"     // the object has no row
	Stale       What = "stale"       // the row holds an older version than the object has had
	Ahead       What = "ahead"       // the row holds a newer version than the cluster: it was restored from a backup
	Orphan      What = "orphan"      // the row is live, the object is gone
	Closed      What = "closed"      // the row is closed, the object is there
	Evicted     What = "evicted"     // the row is marked as evicted, the object is there
	Duplicate   What = "duplicate"   // two live rows have the same name
	Content     What = "content"     // the row's content is not what it should be
	Finalizer   What = "finalizer"   // the object lacks our finalizer
	Terminating What = "terminating" // the object waits for our finalizer for long
)

// Difference is one finding.
type Difference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	What      What   `json:"what"`
	// Cluster and Storage describe what each side has.
	Cluster string `json:"cluster"`
	Storage string `json:"storage"`
}

// String is one line.
func (d Difference) String() string {
	return fmt.Sprintf("%s %s/%s (%s): %s: cluster %s, storage %s", d.Kind, d.Namespace, d.Name, d.UID, d.What, d.Cluster, d.Storage)
}

// Tally counts one kind.
type Tally struct {
	Kind        string `json:"kind"`
	Objects     int    `json:"objects"`
	Rows        int    `json:"rows"`    // live ones whose object is expected in the cluster
	Evicted     int    `json:"evicted"` // live ones whose object left on purpose
	Differences int    `json:"differences"`
}

// Report is the result of a comparison.
type Report struct {
	Kinds       []Tally      `json:"kinds"`
	Differences []Difference `json:"differences"`
}

// Options of a comparison.
type Options struct {
	cmdutil.Scope
	// Deep compares content too.
	Deep bool
	// Patience is how long a difference must persist before it counts. Zero counts it at once.
	Patience time.Duration
	// TerminatingFor is how long an object may wait for our finalizer. Zero disables the check.
	TerminatingFor time.Duration
}

// Compare compares the objects and rows that the options select. It changes nothing.
func Compare(ctx context.Context, env Env, options Options) (Report, error) {
	kinds, namespaces, err := options.Resolve(env)
	if err != nil {
		return Report{}, err
	}
	if err := env.NeedMySQL(); err != nil {
		return Report{}, err
	}
	n, known, err := env.Incarnation(ctx)
	if err != nil {
		return Report{}, err
	}
	if !known {
		env.Log.Info("This database has never seen this cluster; the ingester settles that at its start")
	}
	builder, err := record.NewBuilder(env.Kinds)
	if err != nil {
		return Report{}, err
	}
	report := Report{Kinds: []Tally{}, Differences: []Difference{}}
	for _, kind := range kinds {
		c := &comparison{env: env, options: options, kind: kind, namespaces: namespaces, incarnation: n, builder: builder}
		if err := c.run(ctx); err != nil {
			return Report{}, fmt.Errorf("verify %s: %w", kind.Name, err)
		}
		c.tally.Differences = len(c.found)
		report.Kinds = append(report.Kinds, c.tally)
		report.Differences = append(report.Differences, c.found...)
	}
	return report, nil
}

// comparison holds the comparison of one kind.
type comparison struct {
	env         Env
	options     Options
	kind        *registry.Kind
	namespaces  []string
	incarnation int64
	builder     *record.Builder

	tally      Tally
	candidates []candidate
	found      []Difference
}

// candidate is a difference that is not confirmed yet.
type candidate struct {
	Difference
	// reached is the version that the row must reach: that of the object in the first list.
	reached int64
}

func (c *comparison) run(ctx context.Context) error {
	c.tally.Kind = c.kind.Name
	if err := c.look(ctx); err != nil {
		return err
	}
	if c.options.Deep {
		if err := c.deep(ctx); err != nil {
			return err
		}
	}
	if err := c.patiently(ctx); err != nil {
		return err
	}
	for _, x := range c.candidates {
		c.found = append(c.found, x.Difference)
	}
	slices.SortFunc(c.found, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID), cmp.Compare(a.What, b.What))
	})
	// A row may differ from its own JSON and from the object: once is enough.
	c.found = slices.CompactFunc(c.found, func(a, b Difference) bool { return a.UID == b.UID && a.What == b.What })
	c.env.Log.V(1).Info("Compared", "kind", c.kind.Name, "objects", c.tally.Objects, "rows", c.tally.Rows, "differences", len(c.found))
	return nil
}

// lookAgainEvery is the interval between two checks of the same candidates.
const lookAgainEvery = 500 * time.Millisecond

// patiently checks the candidates again until none is left or Patience has elapsed.
func (c *comparison) patiently(ctx context.Context) error {
	end := c.env.Clock.Now().Add(c.options.Patience)
	for len(c.candidates) > 0 && c.env.Clock.Now().Before(end) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.env.Clock.After(min(lookAgainEvery, c.options.Patience)):
		}
		if err := c.again(ctx); err != nil {
			return err
		}
	}
	return nil
}
