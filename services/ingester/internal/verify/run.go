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

	"github.com/flotilla-dev/flotilla/services/ingester/internal/cmdutil"
	tables "github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Command implements "ingester verify".
type Command struct {
	Options
	cmdutil.Output
	// Mend repairs what was found, and compares again. Force closes rows however many they are.
	Mend, Force bool
}

const defaultPatience = 10 * time.Second

// AddFlags adds the flags of the command.
func (c *Command) AddFlags(fs *pflag.FlagSet) {
	c.Scope.AddFlags(fs)
	c.Output.AddFlags(fs)
	fs.BoolVar(&c.Deep, "deep", false, "compare content too: JSON with the object; protobuf, columns, labels and annotations with the JSON")
	fs.DurationVar(&c.Patience, "settle-timeout", defaultPatience, "how long differences are looked at again before they count")
	fs.DurationVar(&c.TerminatingFor, "terminating-threshold", overdueDefault, "name objects that have waited longer than this for the ingester's finalizer; 0 for none")
	fs.BoolVar(&c.Mend, "repair", false, "store missing and stale objects, close rows whose object is gone, and compare again")
	fs.BoolVar(&c.Force, "force", false, "with --repair: close rows however many they are")
}

// Result is what the command prints as JSON.
type Result struct {
	Report
	// Mended is nil without --repair. With it, the report is that of the second comparison.
	Mended *Mended `json:"mended,omitempty"`
}

// Run compares, repairs if Mend is set, and prints the result. The error reports what is left.
func (c *Command) Run(ctx context.Context, env Env, out io.Writer) error {
	if err := c.validate(ctx, env); err != nil {
		return err
	}
	report, err := Compare(ctx, env, c.Options)
	if err != nil {
		return err
	}
	result := Result{Report: report}
	if c.Mend {
		mended, err := Mend(ctx, env, report, c.Force)
		if err != nil {
			return err
		}
		if result.Report, err = Compare(ctx, env, c.Options); err != nil {
			return err
		}
		result.Mended = &mended
	}
	if err := c.Print(out, result, result.text); err != nil {
		return err
	}
	n := len(result.Differences)
	switch {
	case n == 0:
		return nil
	case c.Mend:
		return cmdutil.Leftf("%s left", cmdutil.Count(n, "difference"))
	}
	return cmdutil.Leftf("%s; --repair repairs what can be repaired", cmdutil.Count(n, "difference"))
}

func (c *Command) validate(ctx context.Context, env Env) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Force && !c.Mend {
		return errors.New("--force means nothing without --repair")
	}
	if c.Patience < 0 || c.TerminatingFor < 0 {
		return errors.New("--settle-timeout and --terminating-threshold must not be negative")
	}
	if _, _, err := c.Resolve(env); err != nil {
		return err
	}
	if err := env.NeedMySQL(); err != nil {
		return err
	}
	return c.checkNamespaces(ctx, env)
}

// checkNamespaces rejects a namespace that does not exist: a typing error would look
// like a comparison without a difference.
func (c *Command) checkNamespaces(ctx context.Context, env Env) error {
	missing, err := cmdutil.MissingNamespaces(ctx, env, c.Namespaces)
	if err != nil {
		return err
	}
	for _, name := range missing {
		known := false
		for _, kind := range env.Kinds.Kinds() {
			var n int
			query := "SELECT COUNT(*) FROM (SELECT 1 FROM " + tables.Quote(kind.Table) + " WHERE namespace = ? LIMIT 1) AS found"
			if err := sqlx.NewDb(env.DB, "mysql").GetContext(ctx, &n, query, name); err != nil {
				return fmt.Errorf("look for namespace %s: %w", name, err)
			}
			known = known || n > 0
		}
		if !known {
			return fmt.Errorf("--namespaces: neither the cluster nor MySQL knows %q", name)
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
			fmt.Fprintf(w, "%s\t%s\t%s/%s\t%s\t%s\n", d.What, d.Kind, d.Namespace, d.Name, d.Cluster, d.Storage)
		}
	}
	if r.Mended != nil {
		fmt.Fprintf(w, "\nstored %s, closed %s\n", cmdutil.Count(r.Mended.Stored, "object"), cmdutil.Count(r.Mended.Closed, "row"))
		fmt.Fprint(w, r.Mended.reasons())
	}
	if len(r.Differences) == 0 {
		fmt.Fprintln(w, "\nno differences")
	}
}

// reasons returns why differences were not repaired, one line for each kind, difference and reason.
func (m *Mended) reasons() string {
	counts := map[string]int{}
	for _, u := range m.Left {
		counts[fmt.Sprintf("not mended: %s, %s: %s", u.Kind, u.What, u.Why)]++
	}
	var b strings.Builder
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s (%d)\n", line, counts[line])
	}
	return b.String()
}
