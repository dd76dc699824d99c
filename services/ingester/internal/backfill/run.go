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

	"github.com/flotilla-dev/flotilla/services/ingester/internal/cmdutil"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Command implements "ingester backfill".
type Command struct {
	cmdutil.Scope
	cmdutil.Output
	// What selects the parts to rewrite: index, blob or all; see package storage.
	What string
	// ExcludeDeleted skips closed rows.
	ExcludeDeleted bool
	// StartTime, in RFC 3339, is the creation time to begin with; empty is the beginning, or the position in State.
	StartTime string
	// Rate is the maximum number of rows per second; zero means no limit.
	Rate int
	// Batch is how many rows are rewritten between two checks of the rate and the state.
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
	fs.StringVar(&c.What, "command", storage.BackfillAll, "index rewrites the indexed columns; blob the protobuf and JSON; all both, with labels and annotations")
	fs.BoolVar(&c.ExcludeDeleted, "exclude-deleted", false, "leave closed rows alone")
	fs.StringVar(&c.StartTime, "start-time", "", "creation time to begin with, for example 2026-11-22T08:00:00Z")
	fs.IntVar(&c.Rate, "rate", defaultRate, "rows per second at most; 0 for no limit")
	fs.IntVar(&c.Batch, "batch", defaultBatch, "rows between two looks at rate and state")
	fs.StringVar(&c.State, "state", "", "file that remembers how far it came; the same command goes on from there")
}

// Tally counts the rows of one kind in this run.
type Tally struct {
	Kind string `json:"kind"`
	// Rows counts the rows that were read; unchanged ones are not written.
	Rows int `json:"rows"`
	// Done reports whether this run or an earlier one reached the end.
	Done bool `json:"done"`
	// Next is the creation time to resume from.
	Next *time.Time `json:"next,omitempty"`
	// Refused lists the objects that were left unchanged, each with the reason.
	Refused []string `json:"refused,omitempty"`
}

// Result is what the command prints as JSON.
type Result struct {
	Command string  `json:"command"`
	Kinds   []Tally `json:"kinds"`
}

// Run backfills and prints the result, also when it ends early. The error then names the
// flags that resume the run.
func (c *Command) Run(ctx context.Context, env cmdutil.Env, out io.Writer) error {
	start, err := c.validate()
	if err != nil {
		return err
	}
	kinds, namespaces, err := c.Resolve(env)
	if err != nil {
		return err
	}
	if err := env.NeedMySQL(); err != nil {
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
	for _, tally := range result.Kinds {
		if len(tally.Refused) > 0 {
			return cmdutil.Leftf("objects that cannot be stored were left as they are")
		}
	}
	return nil
}

func (c *Command) validate() (time.Time, error) {
	switch {
	case !slices.Contains([]string{storage.BackfillIndex, storage.BackfillBlob, storage.BackfillAll}, c.What):
		return time.Time{}, fmt.Errorf("--command is %q: want index, blob or all", c.What)
	case c.Rate < 0:
		return time.Time{}, fmt.Errorf("--rate must not be negative, is %d", c.Rate)
	case c.Batch < 1 || c.Batch > maxBatch:
		return time.Time{}, fmt.Errorf("--batch must be 1 to %d, is %d", maxBatch, c.Batch)
	case c.StartTime != "" && c.State != "":
		return time.Time{}, errors.New("--start-time and --state exclude each other: the state says where to go on")
	}
	if err := c.Validate(); err != nil || c.StartTime == "" {
		return time.Time{}, err
	}
	start, err := time.Parse(time.RFC3339Nano, c.StartTime)
	if err != nil {
		return time.Time{}, fmt.Errorf("--start-time is %q: want a time like 2026-11-22T08:00:00Z", c.StartTime)
	}
	return start, nil
}

// limiter counts rows, one after the other.
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
	env        cmdutil.Env
	store      store
	start      time.Time
	namespaces []string
	state      state
	limiter    *rate.Limiter
}

func (d *driver) run(ctx context.Context, kinds []*registry.Kind) (Result, error) {
	result := Result{Command: d.command.What, Kinds: []Tally{}}
	for _, kind := range kinds {
		tally := Tally{Kind: kind.Name, Done: slices.Contains(d.state.Done, kind.Name)}
		var err error
		if !tally.Done {
			err = d.kind(ctx, &tally)
		}
		result.Kinds = append(result.Kinds, tally)
		if err != nil {
			return result, d.goOn(tally, err)
		}
	}
	return result, nil
}

// kind rewrites the rows of a kind, batch after batch.
func (d *driver) kind(ctx context.Context, tally *Tally) error {
	next := d.start
	if from, ok := d.state.Next[tally.Kind]; ok {
		next = from
	}
	for {
		tally.Next = &next
		reached, err := d.store.Backfill(ctx, d.counted(ctx, tally), storage.BackfillOptions{
			Kind: tally.Kind, Command: d.command.What, StartTime: next, ExcludeDeleted: d.command.ExcludeDeleted,
			NameSpaces: d.namespaces, BatchSize: d.command.Batch,
		})
		if errors.Is(err, storage.ErrRejected) {
			tally.Refused = append(tally.Refused, err.Error())
			err = nil
		}
		if reached != nil && reached.After(next) {
			next = *reached
		}
		if err == nil && reached == nil {
			tally.Done, tally.Next = true, nil
			d.state.Done = append(d.state.Done, tally.Kind)
			delete(d.state.Next, tally.Kind)
		} else {
			d.state.Next[tally.Kind] = next
		}
		if saving := d.command.saveState(d.state); saving != nil || err != nil {
			return errors.Join(err, saving)
		}
		if tally.Done {
			return nil
		}
		d.env.Log.Info("Rewrote rows", "kind", tally.Kind, "rows", tally.Rows, "next", next.UTC().Format(time.RFC3339Nano))
	}
}

// counted returns every object unchanged, at the limited rate: the store derives the rest again.
func (d *driver) counted(ctx context.Context, tally *Tally) storage.PrepareBackfillParams {
	return func(object runtime.Object) (*storage.BackfillParams, error) {
		if err := d.limiter.Wait(ctx); err != nil {
			return nil, err
		}
		tally.Rows++
		return &storage.BackfillParams{Object: object}, nil
	}
}

// goOn adds to an error the flags that resume the same backfill.
func (d *driver) goOn(tally Tally, err error) error {
	if d.command.State != "" {
		return fmt.Errorf("%w; the same command goes on from --state %s", err, d.command.State)
	}
	return fmt.Errorf("%w; go on with --kinds %s --start-time %s, then the kinds behind it", err, tally.Kind, tally.Next.UTC().Format(time.RFC3339Nano))
}

func (r Result) text(w io.Writer) {
	fmt.Fprintf(w, "KIND\tROWS\tSTATE\n")
	for _, k := range r.Kinds {
		stand := "done"
		if !k.Done && k.Next != nil {
			stand = "next " + k.Next.UTC().Format(time.RFC3339Nano)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\n", k.Kind, k.Rows, stand)
	}
	for _, k := range r.Kinds {
		for _, text := range k.Refused {
			fmt.Fprintf(w, "%s\n", text)
		}
	}
}
