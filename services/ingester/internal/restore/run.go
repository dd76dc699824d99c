package restore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// Command implements "ingester restore".
type Command struct {
	command.Scope
	command.Output
	// Names of objects; none means all.
	Names []string
	// Evicted restores evicted rows instead of the live ones.
	Evicted bool
	// DryRun validates the objects on the API server without creating them.
	DryRun bool
	// Existing is skip or fail.
	Existing string
	// Rate is the maximum number of objects per second.
	Rate float64
	// Force runs the command even if an ingester is the leader.
	Force bool
}

// Actions for objects that exist.
const (
	skipExisting = "skip"
	failExisting = "fail"
)

const defaultRate = 50

// AddFlags adds the flags of the command.
func (c *Command) AddFlags(fs *pflag.FlagSet) {
	c.Scope.AddFlags(fs)
	c.Output.AddFlags(fs)
	fs.StringSliceVar(&c.Names, "name", nil, "names of objects; empty means all")
	fs.BoolVar(&c.Evicted, "evicted", false, "restore evicted objects instead of live ones, without the annotation michelangelo/Immutable")
	fs.BoolVar(&c.DryRun, "dry-run", false, "validate the objects on the API server without creating them")
	fs.StringVar(&c.Existing, "existing", skipExisting, "action for an object that exists: skip or fail")
	fs.Float64Var(&c.Rate, "rate", defaultRate, "maximum objects per second")
	fs.BoolVar(&c.Force, "force", false, "run although an ingester is the leader")
}

// Result is the JSON output of the command.
type Result struct {
	DryRun   bool              `json:"dryRun"`
	Kinds    []Counts          `json:"kinds"`
	Problems []command.Problem `json:"problems"`
}

// Run restores the objects and prints the result. It returns an error if rows were not restored.
func (c *Command) Run(ctx context.Context, env command.Env, out io.Writer) error {
	if err := c.validate(ctx, env); err != nil {
		return err
	}
	kinds, namespaces, err := c.Resolve(env)
	if err != nil {
		return err
	}
	query := rows.Query{State: rows.InCluster, Namespaces: namespaces, Names: c.Names}
	if c.Evicted {
		query.State = rows.Evicted
	}
	limiter := rate.NewLimiter(rate.Limit(c.Rate), 1)
	result := Result{DryRun: c.DryRun, Kinds: []Counts{}, Problems: []command.Problem{}}
	total, failed := 0, 0
	for _, kind := range kinds {
		r := &restorer{env: env, kind: kind, limiter: limiter, evicted: c.Evicted, dryRun: c.DryRun, existing: c.Existing}
		err := r.run(ctx, query)
		result.Kinds = append(result.Kinds, r.counts)
		result.Problems = append(result.Problems, r.problems...)
		if err != nil {
			// Print the result so far: another run continues from there.
			return errors.Join(err, c.Print(out, result, result.text))
		}
		total += r.counts.Rows
		failed += r.counts.Failed
	}
	if err := c.Print(out, result, result.text); err != nil {
		return err
	}
	switch {
	case failed > 0:
		return command.Incompletef("%s not restored", command.Count(failed, "row"))
	case total == 0 && len(c.Names) > 0:
		return fmt.Errorf("--name: no %s row found", map[bool]string{true: "evicted", false: "live"}[c.Evicted])
	}
	return nil
}

func (c *Command) validate(ctx context.Context, env command.Env) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Existing != skipExisting && c.Existing != failExisting {
		return fmt.Errorf("--existing must be skip or fail, got %q", c.Existing)
	}
	if c.Rate <= 0 {
		return fmt.Errorf("--rate must be positive, got %v", c.Rate)
	}
	if _, _, err := c.Resolve(env); err != nil {
		return err
	}
	if err := env.RequireMySQL(); err != nil {
		return err
	}
	missing, err := command.MissingNamespaces(ctx, env, c.Namespaces)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("--namespaces: namespace %q not found: create it first (kubectl create namespace %s)", missing[0], missing[0])
	}
	return c.checkLeader(ctx, env)
}

// checkLeader returns an error while an ingester is the leader: it would close rows that
// are not restored yet as orphans. It never closes evicted rows.
func (c *Command) checkLeader(ctx context.Context, env command.Env) error {
	if c.Force || c.DryRun || c.Evicted {
		return nil
	}
	return env.RequireNoLeader(ctx, "may close rows that are not restored yet")
}

func (r Result) text(w io.Writer) {
	verb := "CREATED"
	if r.DryRun {
		verb = "WOULD BE CREATED"
	}
	fmt.Fprintf(w, "KIND\tROWS\t%s\tCOMPLETED\tEXISTING\tSKIPPED\tFAILED\n", verb)
	for _, k := range r.Kinds {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", k.Kind, k.Rows, k.Created, k.Completed, k.Existing, k.Skipped, k.Failed)
	}
	command.PrintProblems(w, r.Problems)
}
