package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MessageLimit is the maximum length of a [Message] in bytes: it fits into the note of an Event
// (1024 bytes) with a short prefix.
const MessageLimit = 1000

// Message formats errors identically for an admission response, a condition and an event.
// Errors of the same kind share one sentence, "path, path: error."; sentences
// and paths are sorted, so the order of the errors does not change the text. The message ends with
// the number of errors that do not fit. It is empty without errors.
func Message(violations field.ErrorList) string {
	sorted := slices.Clone(violations)
	slices.SortFunc(sorted, func(a, b *field.Error) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(detail(a), detail(b)))
	})
	for n := len(sorted); n > 0; n-- {
		if text := sentences(sorted[:n], len(sorted)-n); len(text) <= MessageLimit {
			return text
		}
	}
	if len(sorted) == 0 {
		return ""
	}
	return truncate(sentences(sorted[:1], len(sorted)-1)) // a single path can be too long, since users choose names
}

// sentences groups sorted errors by their detail, in the order of their first paths.
func sentences(sorted field.ErrorList, more int) string {
	var order []string
	paths := map[string][]string{}
	for _, e := range sorted {
		d := detail(e)
		if paths[d] == nil {
			order = append(order, d)
		}
		if !slices.Contains(paths[d], e.Field) {
			paths[d] = append(paths[d], e.Field)
		}
	}
	out := make([]string, 0, len(order)+1)
	for _, d := range order {
		out = append(out, strings.Join(paths[d], ", ")+": "+d+".")
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("And %d more.", more))
	}
	return strings.Join(out, " ")
}

// detail returns the text of an error without the path.
func detail(e *field.Error) string {
	if e.Detail == "" {
		return e.ErrorBody()
	}
	return e.Detail
}

// truncate truncates a string to the limit without splitting a character.
func truncate(s string) string {
	const dots = "..."
	end := MessageLimit - len(dots)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + dots
}
