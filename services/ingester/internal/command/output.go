package command

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/pflag"
)

// Formats of a result.
const (
	Text = "text"
	JSON = "json"
)

// Output is the format of a printed result.
type Output struct {
	Format string
}

// AddFlags adds --output.
func (o *Output) AddFlags(fs *pflag.FlagSet) {
	fs.StringVarP(&o.Format, "output", "o", Text, "output format: text or json")
}

// Validate checks the format.
func (o Output) Validate() error {
	if o.Format != Text && o.Format != JSON && o.Format != "" {
		return fmt.Errorf("--output must be text or json, got %q", o.Format)
	}
	return nil
}

// Print writes a result: as JSON, or as text by the function, whose columns are
// separated by tabs and aligned.
func (o Output) Print(out io.Writer, result any, text func(io.Writer)) error {
	if o.Format == JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(result); err != nil {
			return fmt.Errorf("print the result: %w", err)
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	text(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// Problem describes an object, or its row, that a command left as it was.
type Problem struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Text      string `json:"text"`
}

// PrintProblems prints one line for each problem after an empty line, or nothing.
func PrintProblems(w io.Writer, problems []Problem) {
	if len(problems) > 0 {
		fmt.Fprintln(w)
	}
	for _, p := range problems {
		fmt.Fprintf(w, "%s %s/%s: %s\n", p.Kind, p.Namespace, p.Name, p.Text)
	}
}
