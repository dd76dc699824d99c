package printer

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Tree writes a resource, its components and its conditions.
func Tree(w io.Writer, r view.Resource, now time.Time) error {
	out := &writer{to: w}
	out.line("%s", summary(r))
	branches := make([]branch, 0, len(r.Groups)+1)
	for _, g := range r.Groups {
		branches = append(branches, branch{g.Title, parts(g.Parts)})
	}
	if len(r.Conditions) > 0 {
		branches = append(branches, branch{"Conditions", conditionRows(r, now)})
	}
	for i, b := range branches {
		b.write(out, i == len(branches)-1)
	}
	if len(r.Conditions) == 0 {
		out.line("   no conditions reported yet")
	}
	return out.done()
}

// summary summarizes a resource in one line.
func summary(r view.Resource) string {
	fields := []string{cell(r.Ref()) + " in " + cell(r.Namespace)}
	if r.Phase != "" {
		fields = append(fields, cell(r.Phase))
	}
	if r.DeployedVersion != "" {
		fields = append(fields, "runs "+cell(r.DeployedVersion))
	}
	if r.Intent.Paused {
		fields = append(fields, "paused by "+r.Intent.PausedBy)
	}
	if r.Intent.Stopped {
		fields = append(fields, "stopped by "+r.Intent.StoppedBy)
	}
	if r.Deleting {
		fields = append(fields, "being deleted")
	}
	if isOutdated(r) {
		fields = append(fields, fmt.Sprintf("spec generation %d not observed yet", r.Generation))
	}
	return strings.Join(fields, ", ")
}

type branch struct {
	title string
	rows  [][]string
}

func (b branch) write(out *writer, last bool) {
	joint, stem := "├─ ", "│  "
	if last {
		joint, stem = "└─ ", "   "
	}
	out.line("%s%s", joint, b.title)
	for i, line := range align(b.rows) {
		leaf := "├─ "
		if i == len(b.rows)-1 {
			leaf = "└─ "
		}
		out.line("%s%s%s", stem, leaf, line)
	}
}

// align pads cells to the width of their column and omits empty columns.
func align(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	out := make([]string, len(rows))
	for n, row := range rows {
		var line strings.Builder
		for i, c := range row {
			if widths[i] == 0 {
				continue
			}
			line.WriteString(c)
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+3))
		}
		out[n] = strings.TrimRight(line.String(), " ")
	}
	return out
}

func parts(all []view.Part) [][]string {
	rows := make([][]string, len(all))
	for i, p := range all {
		rows[i] = clean(p.Name, p.State, p.Ready, p.Ref, p.Message)
	}
	return rows
}

func conditionRows(r view.Resource, now time.Time) [][]string {
	rows := make([][]string, len(r.Conditions))
	for i, c := range r.Conditions {
		rows[i] = clean(c.Type, c.Status, age(c.LastTransitionTime, now), c.Reason, c.Message+stale(r, c))
	}
	return rows
}

// stale returns a remark for a condition of an older spec.
func stale(r view.Resource, c contract.Condition) string {
	if observed := r.ObservedGenerationOf(c); observed < r.Generation {
		return fmt.Sprintf(" [observed generation %d, latest is %d]", observed, r.Generation)
	}
	return ""
}

func clean(cells ...string) []string {
	for i, c := range cells {
		cells[i] = Sanitize(strings.Join(strings.Fields(c), " "))
	}
	return cells
}
