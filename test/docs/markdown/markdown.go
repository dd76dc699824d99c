// Package markdown parses the elements of a page that the checks need: headings, links, code.
package markdown

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Page holds the elements of one file.
type Page struct {
	Anchors map[string]bool // of headings, as GitHub generates them
	Links   []Link
	Blocks  []Block
	Code    []Code // in backticks
}

// Link is the target of one link or image.
type Link struct {
	Line   int
	Target string
}

// Block is a fenced block.
type Block struct {
	Line   int // of its first line of code
	Info   string
	Marked bool // the line before the fence is Mark
	Lines  []string
}

// Code is the text of an inline code span.
type Code struct {
	Line int
	Text string
}

// Mark is the line above a block that can run on a local stack.
const Mark = "<!-- run -->"

var (
	heading = regexp.MustCompile(`^#{1,6} +(.*?)( +#+)?$`)
	fence   = regexp.MustCompile("^ *(```+)(.*)$")
	link    = regexp.MustCompile(`\]\(([^()\s]+)(?: "[^"]*")?\)`)
	code    = regexp.MustCompile("``([^`]|`[^`])+``|`([^`]+)`")
)

// Parse parses a page.
func Parse(text string) Page {
	p := Page{Anchors: map[string]bool{}}
	var block *Block
	var ticks, before string
	for i, line := range strings.Split(text, "\n") {
		if m := fence.FindStringSubmatch(line); m != nil && (block == nil || m[1] == ticks && strings.TrimSpace(m[2]) == "") {
			if block == nil {
				ticks = m[1]
				block = &Block{Line: i + 2, Info: strings.TrimSpace(m[2]), Marked: strings.TrimSpace(before) == Mark}
			} else {
				p.Blocks = append(p.Blocks, *block)
				block = nil
			}
			continue
		}
		before = line
		if block != nil {
			block.Lines = append(block.Lines, line)
			continue
		}
		p.prose(line, i+1)
	}
	return p
}

func (p *Page) prose(line string, number int) {
	if m := heading.FindStringSubmatch(line); m != nil {
		p.anchor(m[1])
	}
	for _, m := range code.FindAllString(line, -1) {
		p.Code = append(p.Code, Code{number, strings.TrimSpace(strings.Trim(m, "`"))})
	}
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, "code"), -1) {
		p.Links = append(p.Links, Link{number, m[1]})
	}
}

// anchor records the anchor of a heading. Repeated headings get a number.
func (p *Page) anchor(title string) {
	slug := Slug(title)
	name := slug
	for n := 1; p.Anchors[name]; n++ {
		name = slug + "-" + strconv.Itoa(n)
	}
	p.Anchors[name] = true
}

var linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// Slug returns the anchor that GitHub generates for a heading.
func Slug(title string) string {
	title = linked.ReplaceAllString(title, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteRune('-')
		}
	}
	return b.String()
}
