package printer

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"
)

// none is the text of an empty cell.
const none = "-"

// Formats of output.
const (
	JSON = "json"
	YAML = "yaml"
	Wide = "wide"
)

// Encode writes a value as JSON or YAML.
func Encode(w io.Writer, format string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	if format == YAML {
		if raw, err = yaml.JSONToYAML(raw); err != nil {
			return fmt.Errorf("encode the output: %w", err)
		}
	} else {
		raw = append(raw, '\n')
	}
	if _, err := w.Write(raw); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// table writes rows with headers and aligned columns, and indents each line.
func table(w io.Writer, indent string, headers []string, rows [][]string) error {
	tabs := printers.GetNewTabWriter(w)
	if len(headers) > 0 {
		fmt.Fprintln(tabs, indent+strings.Join(headers, "\t"))
	}
	for _, row := range rows {
		clean := make([]string, len(row))
		for i, c := range row {
			clean[i] = cell(c)
		}
		fmt.Fprintln(tabs, indent+strings.Join(clean, "\t"))
	}
	if err := tabs.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// cell escapes text and keeps it on one line.
func cell(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return none
	}
	return Sanitize(s)
}

// Sanitize removes control characters that a terminal would interpret, and those that change the text direction.
// Line breaks and tabs stay.
func Sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, printers.EscapeTerminal(s))
}

// age formats the age of a time like kubectl.
func age(at, now time.Time) string {
	if at.IsZero() {
		return none
	}
	return duration.HumanDuration(max(0, now.Sub(at)))
}

// writer keeps the first error, so that callers can write line by line.
type writer struct {
	to  io.Writer
	err error
}

func (w *writer) line(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.to, format+"\n", args...)
	}
}

func (w *writer) table(headers []string, rows [][]string) {
	if w.err == nil {
		w.err = table(w.to, "  ", headers, rows)
	}
}

func (w *writer) done() error {
	if w.err != nil {
		return fmt.Errorf("write the output: %w", w.err)
	}
	return nil
}
