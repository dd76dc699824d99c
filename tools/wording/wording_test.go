package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProse(t *testing.T) {
	cases := map[string]struct {
		file, text string
		want       []line
	}{
		"Go comments and messages": {
			"a.go", "package a\n\n// One comment.\nvar m = \"two words\" // three\n\nvar id = \"single\" //nolint:gosec\n",
			[]line{{3, "One comment."}, {4, "two words"}, {4, "three"}},
		},
		"raw strings by line":            {"a.go", "package a\nvar m = `one two\nthree four`\n", []line{{2, "one two"}, {3, "three four"}}},
		"comments and messages of tests": {"a_test.go", "package a // one\nvar m = \"two words\"\n", []line{{1, "one"}, {2, "two words"}}},
		"Markdown without code":          {"a.md", "a `beside` [b](beside.md)\n```\nbeside\n```\nc", []line{{1, "a `` [b]"}, {5, "c"}}},
		"YAML comments":                  {"a.yaml", "a: b # one\n# two\nc: \"#d\"\n", []line{{1, "one"}, {2, "two"}}},
		"shell comments":                 {"hack/a", "#!/bin/sh\n# one\n", []line{{2, "one"}}},
		"notes of charts":                {"c/templates/NOTES.txt", "one", []line{{1, "one"}}},
		"Grafana dashboards":             {"deploy/grafana/a.json", "\"title\": \"one two\"", []line{{1, "\"title\": \"one two\""}}},
		"Lua comments and messages":      {"a.lua", "-- one\nreturn is(\"A\", \"two words\") -- three\n", []line{{1, "one"}, {2, "two words"}, {2, "three"}}},
		"NATS comments":                  {"a.conf", "# one\na: b # two\n", []line{{1, "one"}, {2, "two"}}},
		"Python comments":                {"a.py", "a = b  # one\n", []line{{1, "one"}}},
		"ignored files of charts":        {"c/.helmignore", "# one\n*.swp\n", []line{{1, "one"}}},
		"JavaScript": {
			"a.js", "// one\nf('a', 'two words') // three\ng(`four ${x} five`, 'https://a')\n",
			[]line{{1, "one"}, {2, "two words"}, {2, "three"}, {3, "four ${x} five"}},
		},
		"style sheets": {"a.css", "a { b: c; } /* one */\n", []line{{1, "one"}}},
		"HTML":         {"a.html", "<p aria-labelledby=\"a\">one", []line{{1, "<p =\"a\">one"}}},
		"OpenAPI":      {"docs/openapi.yaml", "summary: one # two", []line{{1, "summary: one # two"}}},
		"test data":    {"testdata/a.md", "one", nil},
		"others":       {"a.json", "\"one two\"", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []line
			if read := reader(tc.file); read != nil {
				got = read([]byte(tc.text))
			}
			got = notEmpty(got)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(line{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func notEmpty(lines []line) []line {
	var out []line
	for _, l := range lines {
		if l.text != "" {
			out = append(out, l)
		}
	}
	return out
}

func TestCheck(t *testing.T) {
	root := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = root
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	run("sh", "-c", "printf '# Nobody asks\\n' > a.md; printf 'package a // a comment\\n' > a.go; printf 'untracked: nobody' > b.md")
	run("git", "init", "-q")
	run("git", "add", "a.md", "a.go")
	run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a: the commit")
	expressions, err := parse(terms)
	if err != nil {
		t.Fatal(err)
	}
	hits, err := check(root, nil, "HEAD", expressions)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range hits {
		got = append(got, fmt.Sprintf("%s %s", filepath.Ext(strings.Split(h.location, ":")[0]), h.by.FindString(h.text)))
	}
	if diff := cmp.Diff([]string{".md Nobody", " a: the"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRejectsLineWithoutTopic(t *testing.T) {
	for _, list := range []string{"no topic\n", "topic: (\n"} {
		if _, err := parse(list); err == nil {
			t.Errorf("%q: no error", list)
		}
	}
}

func TestExclude(t *testing.T) {
	got, err := exclude("# why\n\na/*.sh: rendered\n")
	if diff := cmp.Diff([]string{":(top,exclude)a/*.sh"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := exclude("a/b.go\n"); err == nil {
		t.Error("an exception without a reason was accepted")
	}
}

func TestSubjects(t *testing.T) {
	expressions, err := parse(terms)
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		"libs/bus: retry a publish that timed out":           true,
		"test: process embedded files":                       true,
		"libs/bus: the retries of a publish":                 false,
		"libs/bus: retries of a publish":                     false,
		"libs/bus: mend retries":                             false,
		"libs/bus: adding retries":                           false,
		"libs/bus: added retries":                            false,
		"retry a publish":                                    false,
		"libs/bus: retry " + strings.Repeat("a publish ", 9): false,
	} {
		if hits := match("", text, expressions, true); (len(hits) == 0) != ok {
			t.Errorf("%q: %d hits", text, len(hits))
		}
	}
}
