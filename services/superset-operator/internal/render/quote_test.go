package render

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
)

// FuzzQuote checks the three quoting functions with exact parsers of their output;
// [TestQuotingHoldsInRealInterpreters] checks the parsers.
func FuzzQuote(f *testing.F) {
	for _, text := range quoteSeeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := readShell(t, shellQuote(text)); got != text {
			t.Errorf("the shell reads %q as %q", text, got)
		}
		if got := readDollars(escapeDollars(text)); got != text {
			t.Errorf("the kubelet reads %q as %q", text, got)
		}
		// Text that is not UTF-8 cannot be stored in a Kubernetes object.
		if !utf8.ValidString(text) {
			return
		}
		if got := readPython(t, pyconfig.Quote(text)); got != text {
			t.Errorf("Python reads %q as %q", text, got)
		}
	})
}

// readShell reads one word as POSIX sh does. Only single-quoted parts and escaped
// single quotes may occur in it.
func readShell(t *testing.T, slug string) string {
	t.Helper()
	var out strings.Builder
	for slug != "" {
		switch {
		case strings.HasPrefix(slug, `\'`):
			out.WriteByte('\'')
			slug = slug[2:]
		case slug[0] == '\'':
			end := strings.IndexByte(slug[1:], '\'')
			if end < 0 {
				t.Fatalf("%q is not closed", slug)
			}
			out.WriteString(slug[1 : end+1])
			slug = slug[end+2:]
		default:
			t.Fatalf("%q is outside quotes", slug)
		}
	}
	return out.String()
}

// readDollars expands a value like Kubernetes if none of the variables is defined.
func readDollars(value string) string {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		out.WriteByte(value[i])
		if value[i] == '$' && i+1 < len(value) && value[i+1] == '$' {
			i++
		}
	}
	return out.String()
}

// readPython reads a Python string literal, of which it supports only some escapes.
func readPython(t *testing.T, literal string) string {
	t.Helper()
	if len(literal) < 2 || literal[0] != '"' || literal[len(literal)-1] != '"' {
		t.Fatalf("%s is not in quotes", literal)
	}
	var units []uint16
	var out strings.Builder
	flush := func() {
		if len(units) > 0 {
			t.Fatalf("%s: Python does not join surrogates", literal)
		}
	}
	for body := literal[1 : len(literal)-1]; body != ""; {
		r, size := utf8.DecodeRuneInString(body)
		switch {
		case r == '"' || r == '\n' || r == '\r':
			t.Fatalf("%s: %q is not escaped", literal, r)
		case r != '\\':
			out.WriteRune(r)
			body = body[size:]
			continue
		}
		escapes := map[byte]byte{'"': '"', '\\': '\\', 'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}
		if c, known := escapes[body[1]]; known {
			out.WriteByte(c)
			body = body[2:]
			continue
		}
		if body[1] != 'u' {
			t.Fatalf("%s: unknown escape %q", literal, body[:2])
		}
		code, err := strconv.ParseUint(body[2:6], 16, 16)
		if err != nil {
			t.Fatalf("%s: %v", literal, err)
		}
		if code >= 0xd800 && code < 0xe000 {
			units = append(units, uint16(code))
		}
		flush()
		out.WriteRune(rune(code))
		body = body[6:]
	}
	return out.String()
}

// TestQuotingHoldsInRealInterpreters checks the quoting with Python and a shell.
func TestQuotingHoldsInRealInterpreters(t *testing.T) {
	t.Run("Python", func(t *testing.T) {
		var literals []string
		for _, text := range quoteSeeds {
			literals = append(literals, pyconfig.Quote(text))
		}
		out := interpret(t, "python3", "-I", "-c", "import json\nprint(json.dumps(["+strings.Join(literals, ",\n")+"]))")
		var got []string
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(quoteSeeds, got); diff != "" {
			t.Errorf("Python reads something else (-want +got):\n%s", diff)
		}
	})
	t.Run("sh", func(t *testing.T) {
		script := `for a in "$@"; do printf '%s\0' "$a"; done`
		args := make([]string, len(quoteSeeds))
		for i, text := range quoteSeeds {
			args[i] = shellQuote(text)
		}
		out := interpret(t, "/bin/sh", "-c", "set -- "+strings.Join(args, " ")+"\n"+script)
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if diff := cmp.Diff(quoteSeeds, got); diff != "" {
			t.Errorf("the shell reads something else (-want +got):\n%s", diff)
		}
	})
}

func interpret(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("this test runs the real interpreter: install %s (Debian: apt-get install python3-minimal dash)", name)
	}
	var errors bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errors.String())
	}
	return out
}

// quoteSeeds try to escape the quotes of Python and the shell, and the expansion of Kubernetes.
var quoteSeeds = []string{
	"", "plain", "{SECRET_KEY}", "{{x}}", "%s %(x)s", "$HOME", "$(HOME)", "$$", "$$$", "$$(HOME)", "`id`", "$(id)", "${x:-y}",
	`'`, `''`, `"`, `'''`, `"""`, `\`, `\\`, `\'`, `'\''`, `\n`, `\u0041`, `\N{DASH}`, `\x41`, `\101`,
	"a\nb", "a\\\nb", "a\r\nb", "\r", "\t", "\b\f\v\a", "\x01", "\x1b[31m", "\x7f", "\u0085", "ü", "e\u0301", "\u2028", "\u2029",
	"\ufeff", "\ufffd", "\uffff", "\U0001F4A5", "\U0010FFFF", `"); import os; os.system("true") #`, `'; touch /tmp/x; '`,
	"!!", "~", "*", "-n", "--", " a  b ", "#", "&|;<>", "</script>", "\u202e",
}
