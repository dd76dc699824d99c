package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/printer"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// maxHistory is the maximum number of events that the API returns.
const maxHistory = 500

type historyOptions struct {
	since  string
	limit  int
	output string
}

func (a *App) historyCommand() *cobra.Command {
	var o historyOptions
	c := &cobra.Command{
		Use:   "history KIND/NAME",
		Short: "Show the changes of a resource, oldest first",
		Long: `Shows the changes of conditions and phase of one resource, oldest first. The status aggregator keeps them for the
retention time of its stream, 30 days by default. If the aggregator or the bus does not respond, the command reports this and
shows the phase changes in the status of the resource, at most 20.`,
		Example: `  kubectl flotilla history superset/main
  kubectl flotilla history fireng/shop --since=2h
  kubectl flotilla history superset/main --since=2026-03-01T08:00:00Z --limit=500`,
		ValidArgsFunction: a.completeResources,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runHistory(cmd.Context(), o, args)
		},
	}
	a.apiFlags(c)
	c.Flags().StringVar(&o.since, "since", "", "only changes since then: a duration such as 90m, or a time such as 2026-03-01T08:00:00Z")
	c.Flags().IntVar(&o.limit, "limit", 100, fmt.Sprintf("maximum number of changes, newest first, 1 to %d", maxHistory))
	outputFlag(c, &o.output, printer.JSON, printer.YAML)
	return c
}

func (a *App) runHistory(ctx context.Context, o historyOptions, args []string) error {
	if err := oneOf(o.output, printer.JSON, printer.YAML); err != nil {
		return err
	}
	if o.limit < 1 || o.limit > maxHistory {
		return fmt.Errorf("--limit=%d is not between 1 and %d", o.limit, maxHistory)
	}
	from, err := since(o.since, a.Clock.Now())
	if err != nil {
		return err
	}
	cluster, t, u, err := a.singleResource(ctx, args)
	if err != nil {
		return err
	}
	detail, err := a.detail(ctx, cluster, t, o.limit)
	missing := detail.Incomplete
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		missing = fmt.Sprintf("the status API did not respond (%v)", err)
	}
	switch {
	case missing != "" && len(detail.History) == 0:
		a.notify("note: %s; showing the phase changes of its status", missing)
		return a.printTransitions(o, view.Of(t.Kind, u).Transitions, from)
	case missing != "":
		a.notify("note: %s", missing)
	}
	events := slices.DeleteFunc(detail.History, func(e statusapi.HistoryEvent) bool { return e.Time.Before(from) })
	if detail.HistoryTruncated && len(events) == len(detail.History) {
		a.notify("note: there are older changes; --limit shows more")
	}
	return a.printHistory(o, t, events)
}

func (a *App) printHistory(o historyOptions, t kinds.Target, events []statusapi.HistoryEvent) error {
	switch {
	case o.output != "":
		return printer.Encode(a.Streams.Out, o.output, map[string]any{"items": append([]statusapi.HistoryEvent{}, events...)})
	case len(events) == 0:
		a.notify("No changes of %s found", t)
		return nil
	}
	return printer.History(a.Streams.Out, events)
}

func (a *App) printTransitions(o historyOptions, all []contract.PhaseChange, from time.Time) error {
	all = slices.DeleteFunc(all, func(p contract.PhaseChange) bool { return p.Time.Before(from) })
	all = all[max(0, len(all)-o.limit):]
	if o.output == "" {
		return printer.Transitions(a.Streams.Out, all)
	}
	events := make([]statusapi.HistoryEvent, len(all))
	for i := range all {
		events[i] = statusapi.HistoryEvent{Time: all[i].Time, Lifecycle: contract.Lifecycle{Event: contract.EventPhase, Phase: &all[i]}}
	}
	return printer.Encode(a.Streams.Out, o.output, map[string]any{"items": events})
}

// since parses a duration before now, or a time.
func since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--since=%q is neither a duration such as 90m nor a time such as 2026-03-01T08:00:00Z", text)
	}
	return t, nil
}
