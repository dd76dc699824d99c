package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Env holds the dependencies of the comparison: Client, DB, Kinds, Clock and Log; a repair needs Store too.
type Env = command.Env

// DifferenceType is the type of a difference between an object and its row.
type DifferenceType string

// Differences.
const (
	Missing     DifferenceType = "missing"     // the object has no row
	Stale       DifferenceType = "stale"       // the row has an older version than the object had
	Ahead       DifferenceType = "ahead"       // the row has a newer version than the object: the cluster or the database was restored from a backup
	Orphan      DifferenceType = "orphan"      // the row is live, the object does not exist
	Closed      DifferenceType = "closed"      // the row is closed, the object exists
	Evicted     DifferenceType = "evicted"     // the row is marked as evicted, the object exists
	Duplicate   DifferenceType = "duplicate"   // two live rows have the same name
	Content     DifferenceType = "content"     // the row's content differs from the object or from its own JSON
	Finalizer   DifferenceType = "finalizer"   // the object lacks our finalizer
	Terminating DifferenceType = "terminating" // the object has been terminating with our finalizer for long
)

// Difference is one finding.
type Difference struct {
	Kind      string         `json:"kind"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	UID       string         `json:"uid"`
	Type      DifferenceType `json:"difference"`
	// Cluster and Storage describe what each side has.
	Cluster string `json:"cluster"`
	Storage string `json:"storage"`
}

// String returns the difference as one line.
func (d Difference) String() string {
	return fmt.Sprintf("%s %s/%s (%s): %s: cluster %s, storage %s", d.Kind, d.Namespace, d.Name, d.UID, d.Type, d.Cluster, d.Storage)
}

// Counts counts one kind.
type Counts struct {
	Kind        string `json:"kind"`
	Objects     int    `json:"objects"`
	Rows        int    `json:"rows"`    // live ones whose object is expected in the cluster
	Evicted     int    `json:"evicted"` // live ones whose object was evicted
	Differences int    `json:"differences"`
}

// Report is the result of a comparison.
type Report struct {
	Kinds       []Counts     `json:"kinds"`
	Differences []Difference `json:"differences"`
}

// Options of a comparison.
type Options struct {
	command.Scope
	// Deep compares content too.
	Deep bool
	// SettleTimeout is the minimum duration of a reported difference. Zero reports it at once.
	SettleTimeout time.Duration
	// TerminatingThreshold is the time after which an object that is terminating with our finalizer is reported.
	// Zero disables the check.
	TerminatingThreshold time.Duration
}

// Compare compares the objects and rows that the options select. It changes nothing.
func Compare(ctx context.Context, env Env, options Options) (Report, error) {
	kinds, namespaces, err := options.Resolve(env)
	if err != nil {
		return Report{}, err
	}
	if err := env.RequireMySQL(); err != nil {
		return Report{}, err
	}
	n, registered, err := env.Incarnation(ctx)
	if err != nil {
		return Report{}, err
	}
	if !registered {
		env.Log.Info("Cluster not registered in this database: start the ingester once")
	}
	builder, err := record.NewBuilder(env.Kinds)
	if err != nil {
		return Report{}, err
	}
	report := Report{Kinds: []Counts{}, Differences: []Difference{}}
	for _, kind := range kinds {
		c := &comparison{env: env, options: options, kind: kind, namespaces: namespaces, incarnation: n, builder: builder}
		if err := c.run(ctx); err != nil {
			return Report{}, fmt.Errorf("verify %s: %w", kind.Name, err)
		}
		c.counts.Differences = len(c.differences)
		report.Kinds = append(report.Kinds, c.counts)
		report.Differences = append(report.Differences, c.differences...)
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

	counts      Counts
	candidates  []candidate
	differences []Difference
}

// candidate is a difference that is not confirmed yet.
type candidate struct {
	Difference
	// minVersion is the version that the row must reach: that of the object in the first list.
	minVersion int64
}

func (c *comparison) run(ctx context.Context) error {
	c.counts.Kind = c.kind.Name
	if err := c.scan(ctx); err != nil {
		return err
	}
	if c.options.Deep {
		if err := c.compareContent(ctx); err != nil {
			return err
		}
	}
	if err := c.confirm(ctx); err != nil {
		return err
	}
	for _, x := range c.candidates {
		c.differences = append(c.differences, x.Difference)
	}
	slices.SortFunc(c.differences, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID), cmp.Compare(a.Type, b.Type))
	})
	// A row may differ from its own JSON and from the object: it is reported once.
	c.differences = slices.CompactFunc(c.differences, func(a, b Difference) bool { return a.UID == b.UID && a.Type == b.Type })
	c.env.Log.V(1).Info("Compared rows and objects", "kind", c.kind.Name, "objects", c.counts.Objects, "rows", c.counts.Rows, "differences", len(c.differences))
	return nil
}

// recheckInterval is the interval between two checks of the same candidates.
const recheckInterval = 500 * time.Millisecond

// confirm checks the candidates again until none is left or SettleTimeout has elapsed.
func (c *comparison) confirm(ctx context.Context) error {
	end := c.env.Clock.Now().Add(c.options.SettleTimeout)
	for len(c.candidates) > 0 && c.env.Clock.Now().Before(end) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.env.Clock.After(min(recheckInterval, c.options.SettleTimeout)):
		}
		if err := c.recheck(ctx); err != nil {
			return err
		}
	}
	return nil
}
