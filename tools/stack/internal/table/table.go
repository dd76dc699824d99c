// Package table formats rows as columns.
package table

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Render aligns the columns of the rows, the first of which is the heading. A cell may have several lines. Render returns
// an empty string if there are no rows.
func Render(rows [][]string) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells, height := make([][]string, len(row)), 1
		for i, cell := range row {
			cells[i] = strings.Split(cell, "\n")
			height = max(height, len(cells[i]))
		}
		for y := range height {
			for _, lines := range cells {
				if y < len(lines) {
					fmt.Fprint(w, lines[y])
				}
				fmt.Fprint(w, "\t")
			}
			fmt.Fprintln(w)
		}
	}
	w.Flush() //nolint:errcheck // a strings.Builder accepts everything
	lines := strings.Split(text.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}
