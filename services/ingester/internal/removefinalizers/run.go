package removefinalizers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
)

// Command implements "ingester remove-finalizers".
type Command struct {
	command.Scope
	command.Output
	// Force runs the command even if an ingester is the leader.
	Force bool
	// DryRun only counts.
	DryRun bool
	// KeepRows keeps the rows of terminating objects live.
	KeepRows bool
}

// AddFlags adds the flags of the command.
func (c *Command) AddFlags(fs *pflag.FlagSet) {
	c.Scope.AddFlags(fs)
	c.Output.AddFlags(fs)
	fs.BoolVar(&c.Force, "force", false, "run although an ingester is the leader")
	fs.BoolVar(&c.DryRun, "dry-run", false, "count the objects without changing them")
	fs.BoolVar(&c.KeepRows, "keep-rows", false, "keep the rows of terminating objects live")
}

// Result is the JSON output of the command.
type Result struct {
	DryRun   bool              `json:"dryRun"`
	Kinds    []Counts          `json:"kinds"`
	Problems []command.Problem `json:"problems"`
}

// Run removes the finalizers and prints the result. It returns an error if objects keep the finalizer, or got it again.
func (c *Command) Run(ctx context.Context, env command.Env, out io.Writer) error {
	if err := c.Validate(); err != nil {
		return err
	}
	kinds, namespaces, err := c.Resolve(env)
	if err != nil {
		return err
	}
	if err := c.checkNamespaces(ctx, env); err != nil {
		return err
	}
	if err := c.checkLeader(ctx, env); err != nil {
		return err
	}
	closes := c.canClose(ctx, env)
	result := Result{DryRun: c.DryRun, Kinds: []Counts{}, Problems: []command.Problem{}}
	left := 0
	for _, kind := range kinds {
		r := &remover{env: env, kind: kind, dryRun: c.DryRun, close: closes, problems: map[types.UID]command.Problem{}}
		counts, err := r.run(ctx, namespaces)
		counts.Failed = len(r.problems)
		result.Kinds = append(result.Kinds, counts)
		result.Problems = append(result.Problems, r.sortedProblems()...)
		if err != nil {
			return errors.Join(err, c.Print(out, result, result.text))
		}
		left += counts.Left
	}
	if err := c.Print(out, result, result.text); err != nil {
		return err
	}
	return incomplete(len(result.Problems), left)
}

func incomplete(failed, left int) error {
	var texts []string
	if failed > 0 {
		texts = append(texts, fmt.Sprintf("patches of %s were rejected", command.Count(failed, "object")))
	}
	if left > 0 {
		texts = append(texts, command.Count(left, "object")+" got the finalizer again: stop the ingester and delete its admission policy first")
	}
	if len(texts) == 0 {
		return nil
	}
	return command.Incompletef("%s", strings.Join(texts, "; "))
}

func (c *Command) checkNamespaces(ctx context.Context, env command.Env) error {
	missing, err := command.MissingNamespaces(ctx, env, c.Namespaces)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("--namespaces: namespace %q not found", missing[0])
	}
	return err
}

func (c *Command) checkLeader(ctx context.Context, env command.Env) error {
	if c.Force || c.DryRun {
		return nil
	}
	return env.RequireNoLeader(ctx, "would add the finalizers again")
}

// canClose reports whether rows can be closed, and logs why not.
func (c *Command) canClose(ctx context.Context, env command.Env) bool {
	if c.KeepRows || env.Store == nil {
		return false
	}
	if err := env.SetIncarnation(ctx); err != nil {
		env.Log.Info("Rows of terminating objects stay live", "reason", err.Error())
		return false
	}
	return true
}

func (r Result) text(w io.Writer) {
	verb := "RELEASED"
	if r.DryRun {
		verb = "WOULD BE RELEASED"
	}
	fmt.Fprintf(w, "KIND\t%s\tOF THEM TERMINATING\tROWS CLOSED\n", verb)
	live := 0
	var skipped []string
	for _, k := range r.Kinds {
		if k.NotServed {
			skipped = append(skipped, k.Kind)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", k.Kind, k.Released, k.Terminating, k.RowsClosed)
		live += k.RowsLive
	}
	if len(skipped) > 0 {
		fmt.Fprintf(w, "\nskipped, since the cluster does not serve them: %s\n", strings.Join(skipped, ", "))
	}
	if live > 0 {
		outcome := map[bool]string{true: "would stay", false: "stayed"}[r.DryRun]
		fmt.Fprintf(w, "\n%s of terminating objects %s live; ingester verify --repair closes them as orphans\n", command.Count(live, "row"), outcome)
	}
	command.PrintProblems(w, r.Problems)
}
