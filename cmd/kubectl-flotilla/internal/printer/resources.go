package printer

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
)

// Columns selects the columns of a table of resources.
type Columns struct {
	Namespace bool // adds the column for lists of all namespaces
	Wide      bool
	NoHeaders bool
}

// Resources writes one line for each resource.
func Resources(w io.Writer, all []view.Resource, c Columns, now time.Time) error {
	rows := make([][]string, len(all))
	for i, r := range all {
		rows[i] = c.row(r, now)
	}
	return table(w, "", c.headers(), rows)
}

func (c Columns) headers() []string {
	if c.NoHeaders {
		return nil
	}
	h := []string{"RESOURCE", "PHASE", "VERSION", "AVAILABLE", "PROGRESSING", "DEGRADED", "NOTE", "AGE"}
	if c.Namespace {
		h = append([]string{"NAMESPACE"}, h...)
	}
	if c.Wide {
		h = append(h, "READY", "UPGRADABLE", "PAUSED", "STOPPED", "GENERATION")
	}
	return h
}

func (c Columns) row(r view.Resource, now time.Time) []string {
	status := func(conditionType string) string {
		found, _ := r.Condition(conditionType)
		return found.Status
	}
	version := view.Tag(r.DeployedVersion)
	if c.Wide {
		version = r.DeployedVersion
	}
	out := []string{
		r.Ref(), r.Phase, version, status("Available"), status("Progressing"), status("Degraded"), Note(r), age(r.CreatedAt, now),
	}
	if c.Namespace {
		out = append([]string{r.Namespace}, out...)
	}
	if c.Wide {
		out = append(out, status("Ready"), status("Upgradable"), status("Paused"), status("Stopped"),
			fmt.Sprintf("%d/%d", r.ObservedGeneration, r.Generation))
	}
	return out
}

// Note returns the most important reason, or an empty string if the resource is as expected.
func Note(r view.Resource) string {
	is := func(conditionType, status string) (string, bool) {
		c, ok := r.Condition(conditionType)
		return c.Reason, ok && c.Status == status
	}
	switch {
	case r.Deleting:
		return "Deleting"
	case len(r.Conditions) == 0:
		return "NotYetObserved"
	}
	if reason, ok := is("Degraded", "True"); ok {
		return reason
	}
	if reason, ok := is("Available", "Unknown"); ok {
		return reason
	}
	switch {
	case r.Intent.Paused:
		return "Paused"
	case r.Intent.Stopped:
		return "Stopped"
	case isOutdated(r):
		return "SpecNotObserved"
	}
	if reason, ok := is("Available", "False"); ok {
		return reason
	}
	if reason, ok := is("Progressing", "True"); ok {
		return reason
	}
	if _, known := r.Condition("Available"); known {
		return ""
	}
	if reason, ok := is("Ready", "False"); ok { // the kind lacks the conditions of ADR027
		return reason
	}
	return ""
}

// isOutdated reports whether the status belongs to an older spec.
func isOutdated(r view.Resource) bool {
	if c, ok := r.Condition("Available"); ok {
		return r.ObservedGenerationOf(c) < r.Generation
	}
	return r.ObservedGeneration < r.Generation
}

// Ticker writes a table line by line, with fixed column positions.
type Ticker struct {
	Columns
	widths []int
}

// Add writes another line, preceded by the headers if it is the first.
func (t *Ticker) Add(w io.Writer, r view.Resource, now time.Time) error {
	out := &writer{to: w}
	if t.widths == nil {
		t.widths = []int{}
		if headers := t.headers(); headers != nil {
			out.line("%s", t.pad(headers))
		}
	}
	out.line("%s", t.pad(clean(t.row(r, now)...)))
	return out.done()
}

func (t *Ticker) pad(cells []string) string {
	var line strings.Builder
	for i, c := range cells {
		if c == "" {
			c = none
		}
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c))
		line.WriteString(c + strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(c)+3))
	}
	return strings.TrimRight(line.String(), " ")
}
