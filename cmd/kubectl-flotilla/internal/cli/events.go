package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/printer"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statusclient"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

const (
	// idleTimeout is how long the stream must be idle after the replay to count as read to its end, without -f.
	idleTimeout = 2 * time.Second
	// replayTimeout is how long the stream may be idle during the replay, without -f. It is longer than the interval of
	// heartbeats, 15 s, with which servers end the replay that do not report its end.
	replayTimeout = 20 * time.Second
)

// maxConcurrentRequests is the maximum number of concurrent requests for resources.
const maxConcurrentRequests = 8

type eventsOptions struct {
	follow, all bool
	since       string
	limit       int
	output      string
}

func (a *App) eventsCommand() *cobra.Command {
	var o eventsOptions
	c := &cobra.Command{
		Use:   "events [KIND/NAME]",
		Short: "Show the events of all managed resources, or follow them live",
		Long: `Shows lifecycle events: changes of conditions and phases, and resources that are created and deleted.
Each line begins with the time and the sequence of the event; a later call with --since resumes after it.

Without -f: the newest events of the existing resources, or all events after --since; exits with 1 if the bus does not
respond, since events may be missing then. With -f: new events, or all events after
--since, until interrupted; a broken connection is resumed without loss or repetition.`,
		Example: `  kubectl flotilla events -A
  kubectl flotilla events -f
  kubectl flotilla events superset/main -f
  kubectl flotilla events -f -A --since=4711 -o json`,
		ValidArgsFunction: a.completeResources,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runEvents(cmd.Context(), o, args)
		},
	}
	a.apiFlags(c)
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "stream events until interrupted")
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "events of all namespaces that you may read")
	c.Flags().StringVar(&o.since, "since", "", "sequence to resume after")
	c.Flags().IntVar(&o.limit, "limit", 50, fmt.Sprintf("without -f and --since: maximum number of events, 1 to %d", maxHistory))
	outputFlag(c, &o.output, printer.JSON)
	return c
}

func (a *App) runEvents(ctx context.Context, o eventsOptions, args []string) error {
	if err := oneOf(o.output, printer.JSON); err != nil {
		return err
	}
	if o.limit < 1 || o.limit > maxHistory {
		return fmt.Errorf("--limit=%d is not between 1 and %d", o.limit, maxHistory)
	}
	cluster, err := a.cluster()
	if err != nil {
		return err
	}
	filter, err := eventFilter(cluster, o, args)
	if err != nil {
		return err
	}
	after, err := sequence(o.since)
	if err != nil {
		return err
	}
	client, err := a.client(ctx, cluster)
	if err != nil {
		return err
	}
	switch {
	case o.follow:
		return a.follow(ctx, client, o, statusclient.Follower{Filter: filter, Since: after, Clock: a.Clock})
	case after != nil:
		return a.catchUp(ctx, client, o, statusclient.Follower{Filter: filter, Since: after, Clock: a.Clock})
	}
	events, missing, err := recent(ctx, client, filter, o.limit)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := a.printEvent(o, e); err != nil {
			return err
		}
	}
	if missing != "" {
		return fmt.Errorf("events may be missing: %s", missing)
	}
	return nil
}

func eventFilter(cluster *kinds.Cluster, o eventsOptions, args []string) (statusclient.Filter, error) {
	f := statusclient.Filter{Namespace: cluster.Namespace}
	if o.all {
		f.Namespace = ""
	}
	if len(args) == 0 {
		return f, nil
	}
	targets, err := cluster.Targets(args, "")
	switch {
	case err != nil:
		return f, err
	case len(targets) != 1:
		return f, fmt.Errorf("%w: one resource at a time", kinds.ErrUsage)
	case o.all:
		return f, errors.New("a resource cannot be named together with --all-namespaces")
	}
	f.Kind, f.Name = targets[0].Kind, targets[0].Name
	return f, nil
}

func sequence(text string) (*uint64, error) {
	if text == "" {
		return nil, nil // nil means from now on
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("--since=%q is not a sequence number: use the number in a line of events", text)
	}
	return &n, nil
}

// follow streams events until the context ends. If the server no longer has the next events, it reports this and continues
// from now.
func (a *App) follow(ctx context.Context, client *statusclient.Client, o eventsOptions, f statusclient.Follower) error {
	f.OnError = func(err error) { a.notify("note: %v; resuming", err) }
	for {
		err := client.Follow(ctx, f, func(e statusclient.Event) error { return a.printEvent(o, historyEvent(e)) })
		switch apiErr := statusclient.Refused(err); {
		case interrupted(ctx):
			return nil // interrupted by the user
		case apiErr != nil && apiErr.Status == http.StatusGone:
			a.notify("note: events are missing here, since the server no longer has them (%s); continuing from now", apiErr.Message)
			f.Since = nil
		default:
			return err
		}
	}
}

func interrupted(ctx context.Context) bool { return ctx.Err() != nil }

// catchUp reads the events after a sequence and ends at the end of the stream.
func (a *App) catchUp(ctx context.Context, client *statusclient.Client, o eventsOptions, f statusclient.Follower) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := f.Clock.NewTimer(requestTimeout)
	defer timer.Stop()
	go func() {
		select {
		case <-timer.C():
			cancel()
		case <-inner.Done():
		}
	}()
	connected, idle := false, replayTimeout
	var lastErr error
	f.OnError = func(err error) { lastErr = err }
	f.Connected = func() {
		lastErr = nil
		if !connected { // reconnects must not extend the time
			connected = true
			timer.Reset(idle)
		}
	}
	f.CaughtUp = func() {
		idle = idleTimeout
		timer.Reset(idle)
	}
	err := client.Follow(inner, f, func(e statusclient.Event) error {
		timer.Reset(idle)
		return a.printEvent(o, historyEvent(e))
	})
	switch {
	case interrupted(ctx) || !errors.Is(err, context.Canceled):
		return err
	case !connected:
		return fmt.Errorf("no answer within %s: %w", requestTimeout, cmp.Or(lastErr, err))
	case lastErr != nil:
		return fmt.Errorf("events may be missing: %w", lastErr)
	case idle == replayTimeout:
		return fmt.Errorf("events may be missing: the status API did not send all of them within %s", replayTimeout)
	}
	return nil
}

// recent returns the newest events of all resources that match, in the order of the stream, and the server's message about
// those that it could not read.
func recent(ctx context.Context, client *statusclient.Client, f statusclient.Filter, limit int) ([]statusapi.HistoryEvent, string, error) {
	resources := []statusapi.Resource{{Kind: f.Kind, Object: contract.Object{Namespace: f.Namespace, Name: f.Name}}}
	if f.Name == "" {
		var err error
		if resources, err = client.Resources(ctx, f); err != nil {
			return nil, "", err
		}
	}
	details := make([]statusapi.ResourceDetail, len(resources))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentRequests)
	for i, r := range resources {
		group.Go(func() error {
			detail, err := client.Resource(ctx, r.Kind, r.Object.Namespace, r.Object.Name, limit)
			if apiErr := statusclient.Refused(err); apiErr != nil && apiErr.Status == http.StatusNotFound && f.Name == "" {
				return nil // deleted after the list
			}
			details[i] = detail
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, "", fmt.Errorf("collect events: %w", err)
	}
	var all []statusapi.HistoryEvent
	missing := ""
	for _, detail := range details {
		all = append(all, detail.History...)
		missing = cmp.Or(missing, detail.Incomplete)
	}
	slices.SortFunc(all, func(x, y statusapi.HistoryEvent) int { return cmp.Compare(x.Sequence, y.Sequence) })
	return all[max(0, len(all)-limit):], missing, nil
}

func historyEvent(e statusclient.Event) statusapi.HistoryEvent {
	return statusapi.HistoryEvent{Sequence: e.Sequence, ID: e.Envelope.ID, Time: e.Envelope.Time, Lifecycle: e.Lifecycle}
}

// printEvent writes one event, as a line of text or JSON.
func (a *App) printEvent(o eventsOptions, e statusapi.HistoryEvent) error {
	if o.output == printer.JSON {
		if err := json.NewEncoder(a.Streams.Out).Encode(e); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
		return nil
	}
	kind := e.Object.Kind
	if token, ok := contract.KindFor(e.Object.Group, e.Object.Kind); ok {
		kind = string(token)
	}
	return printer.Event(a.Streams.Out, e.Time, e.Sequence, kind, e.Lifecycle)
}
