// Package commands takes the commands out of a page's blocks.
package commands

import (
	"strings"

	"github.com/flotilla-dev/flotilla/test/docs/markdown"
)

// Command is one command as a person would type it, on one line.
type Command struct {
	Line int
	Text string
}

// Marked returns, as one script each, the blocks of a page that a running local stack can
// execute, in their order. They share one shell: later ones use what earlier ones set.
func Marked(page string) []string {
	var out []string
	for _, b := range markdown.Parse(page).Blocks {
		if b.Marked {
			out = append(out, strings.Join(b.Lines, "\n"))
		}
	}
	return out
}

// Of returns the commands of a page. In a block of language sh or bash every line is one; in
// others a line that begins with "$ ", or, in blocks without a language, with a program from a list and is not a row of columns.
// A backslash joins lines; comments are left out.
func Of(page markdown.Page, programs map[string]bool) []Command {
	var out []Command
	for _, b := range page.Blocks {
		language, _, _ := strings.Cut(b.Info, " ")
		joined := ""
		for i, line := range b.Lines {
			line = strings.TrimSpace(line)
			if joined != "" {
				line = joined + " " + line
				joined = ""
			} else if !isCommand(language, line, programs) {
				continue
			}
			if before, more := strings.CutSuffix(line, `\`); more {
				joined = strings.TrimSpace(before)
				continue
			}
			if text := clean(line); text != "" {
				out = append(out, Command{b.Line + i, text})
			}
		}
	}
	return out
}

func isCommand(language, line string, programs map[string]bool) bool {
	switch language {
	case "sh", "bash":
		return !strings.HasPrefix(line, "#")
	case "", "console":
		if strings.HasPrefix(line, "$ ") {
			return true
		}
	}
	first, _, _ := strings.Cut(line, " ")
	// Columns are a picture or a table.
	return language == "" && programs[first] && !strings.Contains(clean(line), "   ")
}

// clean takes prompt and comment away.
func clean(line string) string {
	line = strings.TrimPrefix(line, "$ ")
	if at := strings.Index(line, " #"); at >= 0 && strings.Count(line[:at], "'")%2 == 0 && strings.Count(line[:at], `"`)%2 == 0 {
		line = line[:at]
	}
	return strings.TrimSpace(line)
}
