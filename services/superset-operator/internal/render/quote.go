package render

import "strings"

// shellQuote returns text as one word of POSIX shell. Single quotes keep
// everything unchanged, including newlines and dollar signs.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// escapeDollars keeps Kubernetes from expanding $(NAME) in the value of a
// variable: every doubled dollar sign reaches the container as one.
func escapeDollars(text string) string { return strings.ReplaceAll(text, "$", "$$") }
