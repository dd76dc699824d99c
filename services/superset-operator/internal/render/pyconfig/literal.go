package pyconfig

import (
	"encoding/json"
	"fmt"
)

// Quote returns text as a Python string literal. The string syntax of JSON, as
// Go writes it, is a subset of Python's: the same escapes with the same meaning,
// and everything else is UTF-8.
func Quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		// Marshaling a string never fails; the fallback is valid Python too.
		return fmt.Sprintf("%+q", text)
	}
	return string(quoted)
}

// literal returns True or False.
func literal(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
