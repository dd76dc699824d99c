// Package report writes the results of scenarios as one self-contained HTML page.
package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

//go:embed page.html page.css
var files embed.FS

// Report is the content of the page.
type Report struct {
	Title     string       `json:"title"` // the scenarios that ran, and where
	StartedAt time.Time    `json:"began"`
	Seconds   float64      `json:"seconds"`
	Results   []run.Result `json:"results"`
}

// Failed counts the scenarios that failed.
func (r Report) Failed() int {
	n := 0
	for _, result := range r.Results {
		if !result.OK() {
			n++
		}
	}
	return n
}

// Write writes the page.
func Write(w io.Writer, r Report) error {
	page, err := template.New("page.html").Funcs(template.FuncMap{
		"seconds": seconds, "clock": clock, "share": share, "upTo": upTo, "percentile": percentile, "classes": classes,
		"charts": charts, "css": css, "greatest": greatest,
	}).ParseFS(files, "page.html")
	if err != nil {
		return fmt.Errorf("read the page's template: %w", err)
	}
	if err := page.Execute(w, r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// css returns the embedded style sheet, which contains no user input and needs no escaping.
func css() (template.CSS, error) {
	text, err := files.ReadFile("page.css")
	return template.CSS(text), err
}

func seconds(s float64) string {
	if s < 100 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.0") }

func share(part, all int) string {
	if all == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(all))
}

func upTo(s float64) string {
	switch {
	case s < 0:
		return fmt.Sprintf("> %d s", load.LastBound)
	case s < 1:
		return fmt.Sprintf("≤ %.0f ms", s*1000)
	}
	return fmt.Sprintf("≤ %g s", s)
}

func percentile(f load.Figures, q float64) string {
	if s := f.Quantile(q); s != 0 {
		return upTo(s)
	}
	return "–"
}

func greatest(buckets []load.Bucket) int {
	n := 1
	for _, b := range buckets {
		n = max(n, b.Count)
	}
	return n
}

type class struct {
	Name  string
	Count int
}

// classes returns the classes of answers, the most frequent one first.
func classes(counts map[string]int) []class {
	var out []class
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, class{name, counts[name]})
	}
	slices.SortStableFunc(out, func(a, b class) int { return b.Count - a.Count })
	return out
}

// chart is the timeline of one object.
type chart struct {
	Object string
	Rows   []row
	Marks  []mark
}

type row struct {
	Type  string
	Spans []span
}

// span is a period with one status, in thousandths of the scenario's duration.
type span struct {
	X, Width float64
	Kind     string // its color
	Text     string
	From     time.Time
}

// mark is the start of a phase of the scenario.
type mark struct {
	X    float64
	Name string
}

// width is the width of a chart in SVG units.
const width = 1000.0

// charts returns the timelines of a scenario, one for each object.
func charts(result run.Result) []chart {
	if result.Seconds <= 0 {
		return nil
	}
	at := func(t time.Time) float64 {
		return min(max(width*t.Sub(result.StartedAt).Seconds()/result.Seconds, 0), width)
	}
	var marks []mark
	for _, p := range result.Phases {
		marks = append(marks, mark{at(p.StartedAt), p.Name})
	}
	var out []chart
	for _, track := range timeline.Tracks(result.Changes) {
		if len(out) == 0 || out[len(out)-1].Object != track.Object {
			out = append(out, chart{Object: track.Object, Marks: marks})
		}
		c := &out[len(out)-1]
		c.Rows = append(c.Rows, row{Type: track.Type, Spans: spans(track.Changes, at)})
	}
	return out
}

func spans(changes []timeline.Change, at func(time.Time) float64) []span {
	var out []span
	for i, c := range changes {
		end := width
		if i+1 < len(changes) {
			end = at(changes[i+1].Time)
		}
		if c.Status == "" {
			continue // the object does not exist
		}
		text := c.Status
		if c.Reason != "" {
			text += ", " + c.Reason
		}
		x := at(c.Time)
		out = append(out, span{X: x, Width: max(end-x, 1), Kind: kind(c), Text: text, From: c.Time})
	}
	return out
}

func kind(c timeline.Change) string {
	switch {
	case c.Type == timeline.Phase:
		return "phase"
	case c.IsFailure():
		return "bad"
	case c.Status == "True":
		return "yes"
	}
	return "no"
}
