package purge

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
)

// Command implements "ingester purge".
type Command struct {
	command.Scope
	command.Output
	// OlderThan is the minimum time since a row was closed. Less than an hour requires Force.
	OlderThan time.Duration
	Force     bool
	// DryRun only counts.
	DryRun bool
	// Batch is the maximum number of rows that one transaction deletes.
	Batch int
}

const (
	defaultAge = 30 * 24 * time.Hour
	maxBatch   = 5000
)

// AddFlags adds the flags of the command.
func (c *Command) AddFlags(fs *pflag.FlagSet) {
	c.Scope.AddFlags(fs)
	c.Output.AddFlags(fs)
	fs.DurationVar(&c.OlderThan, "older-than", defaultAge, "minimum time since a row was closed")
	fs.BoolVar(&c.Force, "force", false, "allow an --older-than of less than an hour")
	fs.BoolVar(&c.DryRun, "dry-run", false, "count the rows without deleting them")
	fs.IntVar(&c.Batch, "batch", defaultBatch, "rows per transaction")
}

// Result is the JSON output of the command.
type Result struct {
	DryRun bool      `json:"dryRun"`
	Before time.Time `json:"before"`
	Kinds  []Counts  `json:"kinds"`
}

// Run purges, or counts, and prints the result. Rows with pending events are kept
// without an error; the next purge deletes them.
func (c *Command) Run(ctx context.Context, env command.Env, out io.Writer) error {
	if err := c.validate(); err != nil {
		return err
	}
	kinds, namespaces, err := c.Resolve(env)
	if err != nil {
		return err
	}
	if err := env.RequireMySQL(); err != nil {
		return err
	}
	result := Result{DryRun: c.DryRun, Before: env.Clock.Now().Add(-c.OlderThan).UTC().Truncate(time.Second), Kinds: []Counts{}}
	do := Delete
	if c.DryRun {
		do = Count
	}
	for _, kind := range kinds {
		counts, err := do(ctx, env.DB, Request{Kind: kind, Before: result.Before, Namespaces: namespaces, Batch: c.Batch})
		if err != nil {
			return err
		}
		env.Log.V(1).Info("Purged", "kind", kind.Name, "rows", counts.Rows, "dryRun", c.DryRun)
		result.Kinds = append(result.Kinds, counts)
	}
	return c.Print(out, result, result.text)
}

func (c *Command) validate() error {
	switch {
	case c.OlderThan < 0:
		return fmt.Errorf("--older-than must not be negative, got %s", c.OlderThan)
	case c.OlderThan < MinRetention && !c.Force:
		return fmt.Errorf("--older-than of %s requires --force: less than %s, stale versions of objects may still be in transit", c.OlderThan, MinRetention)
	case c.Batch < 0 || c.Batch > maxBatch:
		return fmt.Errorf("--batch must be 1 to %d, got %d", maxBatch, c.Batch)
	}
	return c.Validate()
}

func (r Result) text(w io.Writer) {
	verb := "DELETED"
	if r.DryRun {
		verb = "WOULD BE DELETED"
	}
	fmt.Fprintf(w, "closed before %s\n\nKIND\t%s\tKEPT FOR EVENTS\n", r.Before.Format(time.RFC3339), verb)
	sum := 0
	for _, k := range r.Kinds {
		fmt.Fprintf(w, "%s\t%d\t%d\n", k.Kind, k.Rows, k.Waiting)
		sum += k.Rows
	}
	fmt.Fprintf(w, "total\t%d\n", sum)
}
