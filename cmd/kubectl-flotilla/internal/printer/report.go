package printer

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/evidence"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Report writes the evidence of one resource.
func Report(w io.Writer, r evidence.Report, now time.Time) error {
	out := &writer{to: w}
	out.line("%s", summary(r.Resource))
	source(out, r, now)
	if len(r.Resource.Conditions) > 0 {
		out.line("\nConditions")
		rows := make([][]string, len(r.Resource.Conditions))
		for i, c := range r.Resource.Conditions {
			rows[i] = []string{c.Type, c.Status, age(c.LastTransitionTime, now), r.Writers[c.Type], c.Reason, c.Message + stale(r.Resource, c)}
		}
		out.table([]string{"TYPE", "STATUS", "SINCE", "BY", "REASON", "MESSAGE"}, rows)
	}
	if r.Provenance != nil {
		list(out, "Evidence", r.Provenance.Evidence)
		if h := r.Provenance.Held; h != nil {
			out.line("\nHeld back: %s %s, which it would have been for %s, from %s on",
				cell(h.Type), cell(h.Status), age(h.Since, now), h.Until.UTC().Format(time.RFC3339))
		}
	}
	if r.Observation != nil {
		observation(out, r.Observation, now)
	}
	if len(r.Events) > 0 {
		out.line("\nEvents")
		rows := make([][]string, len(r.Events))
		for i, e := range r.Events {
			rows[i] = []string{age(e.Time, now), e.Type, fmt.Sprintf("%dx", e.Count), e.Object, e.Reason, e.Message}
		}
		out.table(nil, rows)
	}
	list(out, "Read errors", r.ReadErrors)
	return out.done()
}

// source prints the source of the report.
func source(out *writer, r evidence.Report, now time.Time) {
	if r.Source == evidence.Cluster {
		out.line("Source: the cluster itself, since the status API did not respond: %s", cell(r.Reason))
		return
	}
	p := r.Provenance
	if p == nil {
		out.line("Source: status API; no operator has reported on this resource yet")
		return
	}
	out.line("Source: status API, reported by %s (%s), observation %d of its term, received %s ago",
		cell(strings.TrimSpace(p.Observer.Name+" "+p.Observer.Version)), cell(p.Observer.Instance), p.Seq, age(p.ReceivedAt, now))
}

func observation(out *writer, o *contract.Observation, now time.Time) {
	if r := o.Reconcile; r.Outcome == contract.Failed {
		since := ""
		if r.Since != nil {
			since = " for " + age(*r.Since, now)
		}
		out.line("\nReconcile error%s: %s: %s", since, cell(r.Reason), cell(r.Message))
	}
	if len(o.Units) > 0 {
		out.line("\nWorkloads")
		units(out, o.Units)
	}
	if len(o.Jobs) > 0 {
		out.line("\nTasks")
		rows := make([][]string, len(o.Jobs))
		for i, j := range o.Jobs {
			rows[i] = []string{j.Name, string(j.State), j.Message}
		}
		out.table(nil, rows)
	}
	if len(o.Dependencies) > 0 {
		out.line("\nDependencies")
		rows := make([][]string, len(o.Dependencies))
		for i, d := range o.Dependencies {
			state := "NotReady"
			if d.Ready {
				state = "Ready"
			}
			rows[i] = []string{d.Kind + "/" + d.Name, state, d.Message}
		}
		out.table(nil, rows)
	}
	list(out, "Upgrade blockers", o.UpgradeBlockers)
}

func units(out *writer, all []contract.Unit) {
	rows := make([][]string, 0, len(all))
	for _, u := range all {
		rows = append(rows, []string{
			u.Name, u.Kind, string(u.Role), fmt.Sprintf("%d/%d", u.Ready, u.Desired),
			fmt.Sprint(u.Updated), fmt.Sprint(u.Available), remarks(u),
		})
	}
	out.table([]string{"NAME", "KIND", "ROLE", "READY", "UPDATED", "AVAILABLE", "REMARKS"}, rows)
	for _, u := range all {
		for _, f := range u.Failures {
			examples := ""
			if len(f.Examples) > 0 { // pods that cannot be created have no names
				examples = " (" + cell(strings.Join(f.Examples, ", ")) + ")"
			}
			out.line("  %s: %d in %s%s: %s", cell(u.Name), f.Count, f.Class, examples, cell(f.Message))
		}
	}
}

func remarks(u contract.Unit) string {
	var out []string
	add := func(is bool, remark string) {
		if is {
			out = append(out, remark)
		}
	}
	add(!u.Present, "missing")
	add(u.Present && !u.Observed, "spec not observed")
	add(u.Role == contract.Serving && !u.Routed, "no traffic reaches it")
	add(u.Stalled, "stalled")
	add(u.Terminating > 0, fmt.Sprintf("%d terminating", u.Terminating))
	return strings.Join(out, ", ")
}

func list(out *writer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	out.line("\n%s", title)
	for _, item := range items {
		out.line("  - %s", cell(item))
	}
}
