package render

import (
	"encoding/json"
	"fmt"
	"strings"
)

// pyString returns text as a Python string literal. The string syntax of JSON, as
// Go writes it, is a subset of Python's: the same escapes with the same meaning,
// and everything else is UTF-8.
func pyString(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		// Marshaling a string never fails; the fallback is valid Python too.
		return fmt.Sprintf("%+q", text)
	}
	return string(quoted)
}

// pyBool returns True or False.
func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// shellQuote returns text as one word of POSIX shell. Single quotes keep
// everything unchanged, including newlines and dollar signs.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// escapeDollars keeps Kubernetes from expanding $(NAME) in the value of a
// variable: every doubled dollar sign reaches the container as one.
func escapeDollars(text string) string { return strings.ReplaceAll(text, "$", "$$") }
