package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const mask = "***"

// Lines returns the end of a text without its secrets: at most maxLines lines and
// maxBytes bytes of valid UTF-8, without colors and control characters.
func Lines(text string, maxLines, maxBytes int) string {
	text = tail(redact(stripEscapes(text)), maxLines)
	if len(text) <= maxBytes {
		return text
	}
	start := len(text) - max(maxBytes, 0)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}

// Line returns a text as one line without its secrets, of which it keeps at most maxBytes bytes: the beginning, where
// messages name their subject.
func Line(text string, maxBytes int) string {
	const ellipsis = "..."
	line := strings.Join(strings.FieldsFunc(redact(stripEscapes(text)), func(r rune) bool { return r == '\n' }), " ")
	if len(line) <= maxBytes {
		return line
	}
	return strings.ToValidUTF8(line[:max(maxBytes-len(ellipsis), 0)], "") + ellipsis
}

func tail(text string, maxLines int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(len(lines)-max(maxLines, 0), 0):], "\n")
}

var (
	escapes  = regexp.MustCompile(`\x1b\[[0-9;:?]*[ -/]*[@-~]`)
	newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")
)

// stripEscapes removes escape sequences: colors between a key and its value would hide the value.
func stripEscapes(text string) string {
	text = newlines.Replace(escapes.ReplaceAllString(text, ""))
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return strings.ToValidUTF8(text, "\uFFFD")
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

func redact(text string) string {
	spans := slices.Concat(passwords(text), headers(text), bearers(text), values(text), rows(text))
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	end := 0
	for _, s := range spans {
		if s.to <= end {
			continue
		}
		if s.from >= end {
			out.WriteString(text[end:s.from])
			out.WriteString(mask)
		}
		end = s.to
	}
	out.WriteString(text[end:])
	return out.String()
}

// userinfo extends to the last @ of a word, since passwords may contain that character.
var userinfo = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s:]*:(\S*)@`)

// userToken matches a token in the place of a user: no name of a user is so long.
var userToken = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^\s:/@]{20,})(?::[^\s/]*)?@`)

func passwords(text string) []span { return append(groups(userinfo, text), groups(userToken, text)...) }

var bearer = regexp.MustCompile(`(?i)\bbearer\s+(\S*\d\S*)`)

func bearers(text string) []span { return groups(bearer, text) }

func groups(pattern *regexp.Regexp, text string) []span {
	var out []span
	for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, span{m[2], m[3]})
	}
	return out
}

// separator matches the end of a key, with quotes and brackets in between: "key": value, key=value, d['key'] = value.
const separator = `[\\"'\])]*[ \t]*[:=]+>?[ \t]*`

var (
	authorization = regexp.MustCompile(`(?i)authorization` + separator)
	secretKey     = regexp.MustCompile(`(?i)(?:(?:password|passwd|pwd|passphrase|secret|token|credential|` +
		`(?:api|access|private|signing|encryption)[ _-]?key)[\w.-]*|(?:[_.-]|\b)pass)` + separator)
	// secretFlag has its value in the next word.
	secretFlag = regexp.MustCompile(`(?i)--?[\w-]*(?:password|passwd|passphrase|secret|token|api-?key)[\w-]*[ \t]+`)
)

func headers(text string) []span {
	return matchValues(authorization, text, func(remaining string, _ bool) int { return valueLength(remaining, true) })
}

func values(text string) []span {
	return append(matchValues(secretKey, text, valueLength), matchValues(secretFlag, text, valueLength)...)
}

// Rows of tables occur in messages of databases and their clients: SQLAlchemy's bound parameters, a row that violates a
// constraint, and one that COPY cannot read.
var (
	rowLine = regexp.MustCompile(`\[parameters:[ \t]*|\bCOPY [^\n]*, line \d+[^:\n]*:[ \t]*`)
	badRow  = regexp.MustCompile(`Failing row contains \(`)
	// sqlPassword matches the statement that sets a password.
	sqlPassword = regexp.MustCompile(`(?i)\bidentified\b[^\n]*?\bby[ \t]+(?:password[ \t]+)?`)
)

func rows(text string) []span {
	line := func(remaining string, _ bool) int { return unquotedLength(remaining, true) }
	return slices.Concat(matchValues(rowLine, text, line), matchValues(badRow, text, rowLength), matchValues(sqlPassword, text, valueLength))
}

// rowLength returns the length of the row at the start of a text; its values may contain line breaks.
func rowLength(remaining string, _ bool) int {
	for _, end := range []string{").\n", ")\n"} {
		if i := strings.Index(remaining, end); i >= 0 {
			return i
		}
	}
	return len(remaining)
}

// matchValues returns the values that follow a pattern; length returns the length of one.
func matchValues(pattern *regexp.Regexp, text string, length func(remaining string, line bool) int) []span {
	var out []span
	for at := 0; at < len(text); {
		m := pattern.FindStringIndex(text[at:])
		if m == nil {
			break
		}
		from := at + m[1]
		// A value after a colon may contain spaces; one after an equals sign is one word.
		colon := strings.HasSuffix(strings.TrimRight(text[at:from], " \t"), ":")
		to := from + length(text[from:], colon)
		if to > from {
			out = append(out, span{from, to})
		}
		at = to
	}
	return out
}

var opening = regexp.MustCompile(`^[bBuUrRfF]{0,2}(\\*)("""|'''|"|')`)

// valueLength returns the length of the value at the start of a text. A value without
// quotes extends to the end of the line, or of the word.
func valueLength(text string, line bool) int {
	m := opening.FindStringSubmatchIndex(text)
	if m == nil {
		return unquotedLength(text, line)
	}
	escape, quote := m[3]-m[2], text[m[4]:m[5]]
	if len(quote) == 3 {
		if end := strings.Index(text[m[1]:], quote); end >= 0 {
			return m[1] + end + wordLength(text[m[1]+end:])
		}
		return len(text)
	}
	end := closingQuote(text[m[1]:], quote[0], escape)
	if end < 0 {
		return unquotedLength(text, true)
	}
	end += m[1]
	// A shell continues the same word after a closing quote.
	return end + wordSuffix(text[end:])
}

// closingQuote returns the end of a quoted text, behind the quote that closes it; -1 if
// none does on this line. A quote inside is escaped more often than the opening one.
func closingQuote(text string, quote byte, escape int) int {
	run := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			return -1
		case c == '\\':
			run++
			continue
		case c == quote && (run == escape || escape == 0 && run%2 == 0):
			return i + 1
		}
		run = 0
	}
	return -1
}

// wordSuffix returns the length of the rest of the word after a closing quote.
func wordSuffix(remaining string) int {
	if remaining == "" || strings.ContainsRune(" \t\n,;:)]}>&|", rune(remaining[0])) {
		return 0
	}
	return wordLength(remaining)
}

func unquotedLength(text string, line bool) int {
	if !line {
		return wordLength(text)
	}
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return end
	}
	return len(text)
}

func wordLength(text string) int {
	if end := strings.IndexAny(text, " \t\n"); end >= 0 {
		return end
	}
	return len(text)
}
