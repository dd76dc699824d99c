// Command wording finds expressions that deviate from the usual terms, in the prose of the repository: comments and
// messages of code, Markdown, comments of configuration, dashboards, API descriptions, notes of charts, and subjects of
// commits. words.txt lists the expressions, exceptions.txt the excluded files; docs/glossary.md has the terms to use
// instead.
//
// Usage: wording [-root DIR] [-commits RANGE] [PATH...]
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed words.txt
var terms string

//go:embed exceptions.txt
var exceptions string

// subject is the topic of expressions that apply only to the subjects of commits.
const subject = "subject"

// expression is one line of words.txt.
type expression struct {
	topic string
	*regexp.Regexp
}

// hit is one match of an expression in a line of prose.
type hit struct {
	location string // path:line, or a commit
	by       expression
	text     string
}

func main() {
	root := flag.String("root", ".", "checkout to read")
	commits := flag.String("commits", "", "also check the subjects of these commits, such as origin/main..HEAD")
	flag.Parse()
	expressions, err := parse(terms)
	if err != nil {
		fail(err)
	}
	excluded, err := exclude(exceptions)
	if err != nil {
		fail(err)
	}
	hits, err := check(*root, append(flag.Args(), excluded...), *commits, expressions)
	if err != nil {
		fail(err)
	}
	for _, h := range hits {
		fmt.Printf("%s: %s: %q in %q\n", h.location, h.by.topic, h.by.FindString(h.text), strings.TrimSpace(h.text))
	}
	if len(hits) > 0 {
		fail(fmt.Errorf("%d expressions to reword; docs/glossary.md has the terms", len(hits)))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "wording:", err)
	os.Exit(1)
}

func parse(list string) ([]expression, error) {
	var out []expression
	for line := range strings.Lines(list) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		topic, text, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("words.txt: no topic in %q", line)
		}
		re, err := regexp.Compile("(?i)" + text)
		if err != nil {
			return nil, fmt.Errorf("words.txt: %w", err)
		}
		out = append(out, expression{topic, re})
	}
	return out, nil
}

// exclude returns the pathspecs that exclude the files of a list: lines of a path and the reason, separated by ": ".
func exclude(list string) ([]string, error) {
	var out []string
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		path, reason, _ := strings.Cut(line, ": ")
		if reason == "" {
			return nil, fmt.Errorf("exceptions.txt: no reason in %q", line)
		}
		out = append(out, ":(top,exclude)"+path)
	}
	return out, nil
}

// check returns the matches in the tracked files under paths, and in the subjects of commits.
func check(root string, paths []string, commits string, expressions []expression) ([]hit, error) {
	listed, err := git(root, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	var hits []hit
	for path := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		read := reader(path)
		if read == nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // deleted, not committed yet
		}
		if err != nil {
			return nil, err
		}
		for _, l := range read(text) {
			hits = append(hits, match(fmt.Sprintf("%s:%d", path, l.number), l.text, expressions, false)...)
		}
	}
	if commits == "" {
		return hits, nil
	}
	log, err := git(root, "log", "--format=%h %s", commits)
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(log)); lines.Scan(); {
		commit, text, _ := strings.Cut(lines.Text(), " ")
		hits = append(hits, match(commit, text, expressions, true)...)
	}
	return hits, nil
}

func match(location, text string, expressions []expression, commit bool) []hit {
	var out []hit
	for _, e := range expressions {
		if (commit || e.topic != subject) && e.MatchString(text) {
			out = append(out, hit{location, e, text})
		}
	}
	return out
}

func git(root string, args ...string) ([]byte, error) {
	out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output() //nolint:noctx // fixed arguments
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}
