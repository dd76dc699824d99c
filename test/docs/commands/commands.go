// Package commands extracts the commands from the code blocks of a page.
package commands

import (
	"strings"

	"github.com/flotilla-dev/flotilla/test/docs/markdown"
)

// Command is one command on a single line.
type Command struct {
	Line int
	Text string
}

// Marked returns the blocks of a page that can run on a local stack, in their order, each as
// a script. They share a shell, so that later blocks can use variables of earlier ones.
func Marked(page string) []string {
	var out []string
	for _, b := range markdown.Parse(page).Blocks {
		if b.Marked {
			out = append(out, strings.Join(b.Lines, "\n"))
		}
	}
	return out
}

// Of returns the commands of a page. In a block of language sh or bash every line is a command.
// In other blocks, commands are the lines that begin with "$ " and, in blocks without a language,
// the lines that begin with one of the programs and are not rows of columns. A backslash joins
// lines; comments are removed.
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
	// A line with columns belongs to a diagram or a table.
	return language == "" && programs[first] && !strings.Contains(clean(line), "   ")
}

// clean removes the prompt and the comment.
func clean(line string) string {
	line = strings.TrimPrefix(line, "$ ")
	if at := strings.Index(line, " #"); at >= 0 && strings.Count(line[:at], "'")%2 == 0 && strings.Count(line[:at], `"`)%2 == 0 {
		line = line[:at]
	}
	return strings.TrimSpace(line)
}
