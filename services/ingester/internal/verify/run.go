package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	tables "github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Command implements "ingester verify".
type Command struct {
	Options
	command.Output
	// Repair repairs the differences and compares again. Force disables the limit of closed rows.
	Repair, Force bool
}

const defaultSettleTimeout = 10 * time.Second

// AddFlags adds the flags of the command.
func (c *Command) AddFlags(fs *pflag.FlagSet) {
	c.Scope.AddFlags(fs)
	c.Output.AddFlags(fs)
	fs.BoolVar(&c.Deep, "deep", false, "also compare content: JSON with the object; protobuf, columns, labels and annotations with the JSON")
	fs.DurationVar(&c.SettleTimeout, "settle-timeout", defaultSettleTimeout, "how long a difference must persist before it counts; 0 counts it at once")
	fs.DurationVar(&c.TerminatingThreshold, "terminating-threshold", defaultTerminatingThreshold, "report objects that have been terminating with the ingester's finalizer for longer than this; 0 disables it")
	fs.BoolVar(&c.Repair, "repair", false, "store missing and stale objects, close rows whose object no longer exists, and compare again")
	fs.BoolVar(&c.Force, "force", false, "with --repair: disable the limit of closed rows")
}

// Result is the JSON output of the command.
type Result struct {
	Report
	// Repaired is nil without --repair. With it, Report is that of the second comparison.
	Repaired *RepairResult `json:"repaired,omitempty"`
}

// Run compares, repairs if Repair is set, and prints the result. It returns an error if differences are left.
func (c *Command) Run(ctx context.Context, env Env, out io.Writer) error {
	if err := c.validate(ctx, env); err != nil {
		return err
	}
	report, err := Compare(ctx, env, c.Options)
	if err != nil {
		return err
	}
	result := Result{Report: report}
	if c.Repair {
		repaired, err := Repair(ctx, env, report, c.Force)
		if err != nil {
			return err
		}
		if result.Report, err = Compare(ctx, env, c.Options); err != nil {
			return err
		}
		result.Repaired = &repaired
	}
	if err := c.Print(out, result, result.text); err != nil {
		return err
	}
	n := len(result.Differences)
	switch {
	case n == 0:
		return nil
	case c.Repair:
		return command.Incompletef("%s left", command.Count(n, "difference"))
	}
	return command.Incompletef("%s found: run again with --repair", command.Count(n, "difference"))
}

func (c *Command) validate(ctx context.Context, env Env) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Force && !c.Repair {
		return errors.New("--force requires --repair")
	}
	if c.SettleTimeout < 0 || c.TerminatingThreshold < 0 {
		return errors.New("--settle-timeout and --terminating-threshold must not be negative")
	}
	if _, _, err := c.Resolve(env); err != nil {
		return err
	}
	if err := env.RequireMySQL(); err != nil {
		return err
	}
	return c.checkNamespaces(ctx, env)
}

// checkNamespaces rejects a namespace that does not exist: a misspelled name would otherwise
// pass as a comparison without differences.
func (c *Command) checkNamespaces(ctx context.Context, env Env) error {
	missing, err := command.MissingNamespaces(ctx, env, c.Namespaces)
	if err != nil {
		return err
	}
	for _, name := range missing {
		found := false
		for _, kind := range env.Kinds.Kinds() {
			var n int
			query := "SELECT COUNT(*) FROM (SELECT 1 FROM " + tables.Quote(kind.Table) + " WHERE namespace = ? LIMIT 1) AS found"
			if err := sqlx.NewDb(env.DB, "mysql").GetContext(ctx, &n, query, name); err != nil {
				return fmt.Errorf("read rows of namespace %s: %w", name, err)
			}
			found = found || n > 0
		}
		if !found {
			return fmt.Errorf("--namespaces: %q not found in the cluster or in MySQL", name)
		}
	}
	return nil
}

func (r Result) text(w io.Writer) {
	fmt.Fprintln(w, "KIND\tOBJECTS\tROWS\tEVICTED\tDIFFERENCES")
	for _, k := range r.Kinds {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\n", k.Kind, k.Objects, k.Rows, k.Evicted, k.Differences)
	}
	if len(r.Differences) > 0 {
		fmt.Fprintln(w, "\nDIFFERENCE\tKIND\tNAME\tCLUSTER\tSTORAGE")
		for _, d := range r.Differences {
			fmt.Fprintf(w, "%s\t%s\t%s/%s\t%s\t%s\n", d.Type, d.Kind, d.Namespace, d.Name, d.Cluster, d.Storage)
		}
	}
	if r.Repaired != nil {
		fmt.Fprintf(w, "\nstored %s, closed %s\n", command.Count(r.Repaired.Stored, "object"), command.Count(r.Repaired.Closed, "row"))
		fmt.Fprint(w, r.Repaired.skipped())
	}
	if len(r.Differences) == 0 {
		fmt.Fprintln(w, "\nno differences")
	}
}

// skipped describes the differences that were not repaired, one line for each kind, type and reason.
func (m *RepairResult) skipped() string {
	counts := map[string]int{}
	for _, u := range m.Left {
		counts[fmt.Sprintf("not repaired: %s, %s: %s", u.Kind, u.Type, u.Reason)]++
	}
	var b strings.Builder
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s (%d)\n", line, counts[line])
	}
	return b.String()
}
