package restore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/cmdutil"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// Command implements "ingester restore".
type Command struct {
	cmdutil.Scope
	cmdutil.Output
	// Names of objects; none means all.
	Names []string
	// Evicted restores evicted rows instead of the live ones.
	Evicted bool
	// DryRun lets the API server check the objects without creating them.
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
	fs.StringSliceVar(&c.Names, "name", nil, "restore only objects of these names")
	fs.BoolVar(&c.Evicted, "evicted", false, "restore evicted objects instead of those that should be in the cluster; they lose the annotation michelangelo/Immutable")
	fs.BoolVar(&c.DryRun, "dry-run", false, "let the API server check the objects without creating them")
	fs.StringVar(&c.Existing, "existing", skipExisting, "skip or fail: what an object that exists means")
	fs.Float64Var(&c.Rate, "rate", defaultRate, "objects per second at most")
	fs.BoolVar(&c.Force, "force", false, "work although an ingester runs")
}

// Result is what the command prints as JSON.
type Result struct {
	DryRun   bool      `json:"dryRun"`
	Kinds    []Tally   `json:"kinds"`
	Problems []Problem `json:"problems"`
}

// Run restores and prints the result. The error reports what is left.
func (c *Command) Run(ctx context.Context, env cmdutil.Env, out io.Writer) error {
	if err := c.validate(ctx, env); err != nil {
		return err
	}
	kinds, namespaces, err := c.Resolve(env)
	if err != nil {
		return err
	}
	query := rows.Query{State: rows.Here, Namespaces: namespaces, Names: c.Names}
	if c.Evicted {
		query.State = rows.Evicted
	}
	limiter := rate.NewLimiter(rate.Limit(c.Rate), 1)
	result := Result{DryRun: c.DryRun, Kinds: []Tally{}, Problems: []Problem{}}
	total, failed := 0, 0
	for _, kind := range kinds {
		r := &restorer{env: env, kind: kind, limiter: limiter, evicted: c.Evicted, dryRun: c.DryRun, existing: c.Existing}
		err := r.run(ctx, query)
		result.Kinds = append(result.Kinds, r.tally)
		result.Problems = append(result.Problems, r.problems...)
		if err != nil {
			// Print the result so far: another run continues from there.
			return errors.Join(err, c.Print(out, result, result.text))
		}
		total += r.tally.Rows
		failed += r.tally.Failed
	}
	if err := c.Print(out, result, result.text); err != nil {
		return err
	}
	switch {
	case failed > 0:
		return cmdutil.Leftf("%s not restored", cmdutil.Count(failed, "row"))
	case total == 0 && len(c.Names) > 0:
		return fmt.Errorf("--name: no %s row has that name", map[bool]string{true: "evicted", false: "live"}[c.Evicted])
	}
	return nil
}

func (c *Command) validate(ctx context.Context, env cmdutil.Env) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Existing != skipExisting && c.Existing != failExisting {
		return fmt.Errorf("--existing is %q: want skip or fail", c.Existing)
	}
	if c.Rate <= 0 {
		return fmt.Errorf("--rate must be positive, is %v", c.Rate)
	}
	if _, _, err := c.Resolve(env); err != nil {
		return err
	}
	if err := env.NeedMySQL(); err != nil {
		return err
	}
	missing, err := cmdutil.MissingNamespaces(ctx, env, c.Namespaces)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("--namespaces: the cluster has no namespace %q: create it first (kubectl create namespace %s)", missing[0], missing[0])
	}
	return c.checkLeader(ctx, env)
}

// checkLeader returns an error while an ingester is the leader: it would close rows that
// are not restored yet as orphans. It never closes evicted rows.
func (c *Command) checkLeader(ctx context.Context, env cmdutil.Env) error {
	if c.Force || c.DryRun || c.Evicted {
		return nil
	}
	leader, err := env.Leader(ctx)
	if err != nil {
		return fmt.Errorf("%w (--force does without)", err)
	}
	if leader != "" {
		return fmt.Errorf("the ingester %s is running and may close rows that are not restored yet: stop it first (its Lease is %s/%s), or --force",
			leader, env.LeaseNamespace, cmdutil.LeaseName)
	}
	return nil
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
	if len(r.Problems) > 0 {
		fmt.Fprintln(w)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "%s %s/%s: %s\n", p.Kind, p.Namespace, p.Name, p.Text)
	}
}
