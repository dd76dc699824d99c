package main

import (
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// line is the prose in one line of a file.
type line struct {
	number int
	text   string
}

// reader returns the function that extracts the prose of a file, or nil for files to skip: test data and generated code.
func reader(name string) func([]byte) []line {
	switch base := path.Base(name); {
	case strings.Contains(name, "testdata/"), strings.Contains(base, "zz_generated"),
		strings.HasPrefix(name, "tools/wording/"):
		return nil
	case strings.HasSuffix(base, ".go"):
		return ofGo
	case strings.HasSuffix(base, ".md"):
		return ofMarkdown
	case base == "NOTES.txt", strings.HasSuffix(base, ".tpl"):
		return all
	case strings.HasPrefix(name, "deploy/grafana/") && strings.HasSuffix(base, ".json"), base == "openapi.yaml":
		return all
	case strings.HasSuffix(base, ".html"):
		return ofHTML
	case strings.HasSuffix(base, ".lua"):
		return ofLua
	case strings.HasSuffix(base, ".js"), strings.HasSuffix(base, ".css"):
		return ofScript
	case strings.HasSuffix(base, ".conf"), strings.HasSuffix(base, ".py"), base == ".helmignore":
		return ofHash
	case strings.HasSuffix(base, ".yaml"), strings.HasSuffix(base, ".yml"), strings.HasSuffix(base, ".sh"), strings.HasSuffix(base, ".mk"),
		base == "Makefile", base == "Dockerfile", strings.HasPrefix(name, "hack/"), strings.HasPrefix(name, ".ci/"):
		return ofHash
	}
	return nil
}

// ofGo returns comments and strings of several words.
func ofGo(text []byte) []line {
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	var out []line
	for {
		pos, tok, literal := s.Scan()
		switch tok {
		case token.EOF:
			return out
		case token.STRING:
			value, err := strconv.Unquote(literal)
			if err != nil || !strings.Contains(value, " ") {
				continue
			}
			out = append(out, split(file.Line(pos), value)...)
		case token.COMMENT:
			if !strings.HasPrefix(literal, "//go:") && !strings.HasPrefix(literal, "//nolint") {
				out = append(out, split(file.Line(pos), strings.Trim(literal, "/* "))...)
			}
		}
	}
}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
)

// ofMarkdown returns the text without code and link targets.
func ofMarkdown(text []byte) []line {
	var out []line
	fenced := false
	for _, l := range split(1, string(text)) {
		if strings.HasPrefix(strings.TrimSpace(l.text), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		l.text = linkTarget.ReplaceAllString(inlineCode.ReplaceAllString(l.text, "``"), "]")
		out = append(out, l)
	}
	return out
}

var (
	luaProse    = regexp.MustCompile(`--\s*(.*)$|"([^"]*)"`)
	scriptProse = regexp.MustCompile(`(?:^|\s)(?://|/\*)\s*(.*?)(?:\*/|$)|'([^']*)'|` + "`([^`]*)`")
)

// ofHTML returns all text but references to ids.
func ofHTML(text []byte) []line {
	return split(1, strings.ReplaceAll(string(text), "aria-labelledby", ""))
}

// ofLua returns comments and strings of several words.
func ofLua(text []byte) []line { return groups(text, luaProse) }

// ofScript returns comments and strings of several words of JavaScript, and comments of CSS.
func ofScript(text []byte) []line { return groups(text, scriptProse) }

// groups returns the text that the groups of an expression match in each line.
func groups(text []byte, prose *regexp.Regexp) []line {
	var out []line
	for _, l := range split(1, string(text)) {
		for _, found := range prose.FindAllStringSubmatch(l.text, -1) {
			text := strings.TrimSpace(strings.Join(found[1:], ""))
			if strings.ContainsAny(found[0][:1], "\"'`") && !strings.Contains(text, " ") {
				continue
			}
			out = append(out, line{l.number, text})
		}
	}
	return out
}

var hashComment = regexp.MustCompile(`(^|\s)#\s+(.*)$`)

// ofHash returns comments that start with a hash.
func ofHash(text []byte) []line {
	var out []line
	for _, l := range split(1, string(text)) {
		if found := hashComment.FindStringSubmatch(l.text); found != nil {
			out = append(out, line{l.number, found[2]})
		}
	}
	return out
}

func all(text []byte) []line { return split(1, string(text)) }

func split(first int, text string) []line {
	var out []line
	for l := range strings.SplitSeq(text, "\n") {
		out = append(out, line{first, l})
		first++
	}
	return out
}
