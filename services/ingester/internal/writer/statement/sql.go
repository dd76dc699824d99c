package statement

import "strings"

// Placeholders returns "(?, ?, ?)".
func Placeholders(n int) string {
	return "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")"
}

// Tuples returns "(?, ?), (?, ?)" for rows with that number of columns.
func Tuples(rows, columns int) string {
	return strings.TrimSuffix(strings.Repeat(Placeholders(columns)+", ", rows), ", ")
}
