package backfill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Command implements "ingester backfill".
type Command struct {
	command.Scope
	command.Output
	// Parts selects what to rewrite: index, blob or all; see package storage.
	Parts string
	// ExcludeDeleted skips closed rows.
	ExcludeDeleted bool
	// StartTime, in RFC 3339, is the creation time to begin with; empty is the beginning, or the position in State.
	StartTime string
	// Rate is the maximum number of rows per second; zero means no limit.
	Rate int
	// Batch is the number of rows between two checks of the rate and the state.
	Batch int
	// State is the file that records the progress; empty means none.
	State string
}

const (
	defaultRate  = 500
	defaultBatch = 500
	maxBatch     = 10000
)

// AddFlags adds the flags of the command.
func (c *Command) AddFlags(fs *pflag.FlagSet) {
	c.Scope.AddFlags(fs)
	c.Output.AddFlags(fs)
	fs.StringVar(&c.Parts, "command", storage.BackfillAll, "parts to rewrite: index (indexed columns), blob (protobuf and JSON), or all (both, labels and annotations)")
	fs.BoolVar(&c.ExcludeDeleted, "exclude-deleted", false, "skip closed rows")
	fs.StringVar(&c.StartTime, "start-time", "", "creation time to begin with, for example 2026-11-22T08:00:00Z")
	fs.IntVar(&c.Rate, "rate", defaultRate, "maximum rows per second; 0 disables it")
	fs.IntVar(&c.Batch, "batch", defaultBatch, "rows per batch; rate and state are checked after each")
	fs.StringVar(&c.State, "state", "", "file that records the progress; the same command resumes from it")
}

// Counts counts the rows of one kind in this run.
type Counts struct {
	Kind string `json:"kind"`
	// Rows counts the rows that were read; unchanged ones are not written.
	Rows int `json:"rows"`
	// Done reports whether this run or an earlier one reached the end.
	Done bool `json:"done"`
	// Next is the creation time to resume from.
	Next *time.Time `json:"next,omitempty"`
	// Rejected lists the objects that were left unchanged, each with the reason.
	Rejected []string `json:"refused,omitempty"`
}

// Result is the JSON output of the command.
type Result struct {
	Command string   `json:"command"`
	Kinds   []Counts `json:"kinds"`
}

// Run rewrites the rows and prints the result, also when it ends early. The error then
// names the flags that resume the run.
func (c *Command) Run(ctx context.Context, env command.Env, out io.Writer) error {
	start, err := c.validate()
	if err != nil {
		return err
	}
	kinds, namespaces, err := c.Resolve(env)
	if err != nil {
		return err
	}
	if err := env.RequireMySQL(); err != nil {
		return err
	}
	s, err := c.loadState(namespaces)
	if err != nil {
		return err
	}
	d := &driver{command: c, env: env, store: env.Store, start: start, namespaces: namespaces, state: s, limiter: c.limiter()}
	result, err := d.run(ctx, kinds)
	if printing := c.Print(out, result, result.text); printing != nil || err != nil {
		return errors.Join(err, printing)
	}
	for _, counts := range result.Kinds {
		if len(counts.Rejected) > 0 {
			return command.Incompletef("objects that cannot be stored were not changed")
		}
	}
	return nil
}

func (c *Command) validate() (time.Time, error) {
	switch {
	case !slices.Contains([]string{storage.BackfillIndex, storage.BackfillBlob, storage.BackfillAll}, c.Parts):
		return time.Time{}, fmt.Errorf("--command must be index, blob or all, got %q", c.Parts)
	case c.Rate < 0:
		return time.Time{}, fmt.Errorf("--rate must not be negative, got %d", c.Rate)
	case c.Batch < 1 || c.Batch > maxBatch:
		return time.Time{}, fmt.Errorf("--batch must be 1 to %d, got %d", maxBatch, c.Batch)
	case c.StartTime != "" && c.State != "":
		return time.Time{}, errors.New("--start-time and --state are mutually exclusive: the state file has the time to resume from")
	}
	if err := c.Validate(); err != nil || c.StartTime == "" {
		return time.Time{}, err
	}
	start, err := time.Parse(time.RFC3339Nano, c.StartTime)
	if err != nil {
		return time.Time{}, fmt.Errorf("--start-time must be a time like 2026-11-22T08:00:00Z, got %q", c.StartTime)
	}
	return start, nil
}

// limiter limits the rows per second, without bursts.
func (c *Command) limiter() *rate.Limiter {
	if c.Rate == 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(c.Rate), 1)
}

// store is the part of the storage that the backfill calls.
type store interface {
	Backfill(ctx context.Context, prepare storage.PrepareBackfillParams, options storage.BackfillOptions) (*time.Time, error)
}

type driver struct {
	command    *Command
	env        command.Env
	store      store
	start      time.Time
	namespaces []string
	state      state
	limiter    *rate.Limiter
}

func (d *driver) run(ctx context.Context, kinds []*registry.Kind) (Result, error) {
	result := Result{Command: d.command.Parts, Kinds: []Counts{}}
	for _, kind := range kinds {
		counts := Counts{Kind: kind.Name, Done: slices.Contains(d.state.Done, kind.Name)}
		var err error
		if !counts.Done {
			err = d.kind(ctx, &counts)
		}
		result.Kinds = append(result.Kinds, counts)
		if err != nil {
			return result, d.resumeError(counts, err)
		}
	}
	return result, nil
}

// kind rewrites the rows of a kind, batch after batch.
func (d *driver) kind(ctx context.Context, counts *Counts) error {
	next := d.start
	if from, ok := d.state.Next[counts.Kind]; ok {
		next = from
	}
	for {
		counts.Next = &next
		reached, err := d.store.Backfill(ctx, d.counted(ctx, counts), storage.BackfillOptions{
			Kind: counts.Kind, Command: d.command.Parts, StartTime: next, ExcludeDeleted: d.command.ExcludeDeleted,
			NameSpaces: d.namespaces, BatchSize: d.command.Batch,
		})
		if errors.Is(err, storage.ErrRejected) {
			counts.Rejected = append(counts.Rejected, err.Error())
			err = nil
		}
		if reached != nil && reached.After(next) {
			next = *reached
		}
		if err == nil && reached == nil {
			counts.Done, counts.Next = true, nil
			d.state.Done = append(d.state.Done, counts.Kind)
			delete(d.state.Next, counts.Kind)
		} else {
			d.state.Next[counts.Kind] = next
		}
		if saving := d.command.saveState(d.state); saving != nil || err != nil {
			return errors.Join(err, saving)
		}
		if counts.Done {
			return nil
		}
		d.env.Log.Info("Rewrote rows", "kind", counts.Kind, "rows", counts.Rows, "next", next.UTC().Format(time.RFC3339Nano))
	}
}

// counted returns a callback that keeps every object unchanged, at the limited rate: the store
// computes the derived parts again.
func (d *driver) counted(ctx context.Context, counts *Counts) storage.PrepareBackfillParams {
	return func(object runtime.Object) (*storage.BackfillParams, error) {
		if err := d.limiter.Wait(ctx); err != nil {
			return nil, err
		}
		counts.Rows++
		return &storage.BackfillParams{Object: object}, nil
	}
}

// resumeError adds the flags that resume the same backfill to an error.
func (d *driver) resumeError(counts Counts, err error) error {
	if d.command.State != "" {
		return fmt.Errorf("%w: run the same command again to resume from --state %s", err, d.command.State)
	}
	return fmt.Errorf("%w: to resume, run with --kinds %s --start-time %s, then with the following kinds", err, counts.Kind, counts.Next.UTC().Format(time.RFC3339Nano))
}

func (r Result) text(w io.Writer) {
	fmt.Fprintf(w, "KIND\tROWS\tSTATE\n")
	for _, k := range r.Kinds {
		progress := "done"
		if !k.Done && k.Next != nil {
			progress = "next " + k.Next.UTC().Format(time.RFC3339Nano)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\n", k.Kind, k.Rows, progress)
	}
	for _, k := range r.Kinds {
		for _, text := range k.Rejected {
			fmt.Fprintf(w, "%s\n", text)
		}
	}
}
