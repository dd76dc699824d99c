// Package table lays rows out in columns.
package table

import (
	"strings"
	"unicode/utf8"
)

// Render lines up the columns of the rows, the first of which is the heading. A cell may hold several lines. An empty
// table is empty.
func Render(rows [][]string) string {
	widths := columnWidths(rows)
	var b strings.Builder
	for _, row := range rows {
		writeRow(&b, row, widths)
	}
	return b.String()
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			for line := range strings.SplitSeq(cell, "\n") {
				widths[i] = max(widths[i], utf8.RuneCountInString(line))
			}
		}
	}
	return widths
}

// writeRow writes as many lines as the row's tallest cell has.
func writeRow(b *strings.Builder, row []string, widths []int) {
	cells := make([][]string, len(row))
	height := 1
	for i, cell := range row {
		cells[i] = strings.Split(cell, "\n")
		height = max(height, len(cells[i]))
	}
	for y := range height {
		var line strings.Builder
		for i, lines := range cells {
			text := ""
			if y < len(lines) {
				text = lines[y]
			}
			line.WriteString(text)
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}
