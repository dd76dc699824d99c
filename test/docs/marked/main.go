// Command marked prints the blocks of a page that are marked to run on a local stack, for a shell:
//
//	go run ./marked ../../docs/tutorial.md | bash -euo pipefail
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/flotilla-dev/flotilla/test/docs/commands"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "marked:", err)
		os.Exit(1)
	}
}

func run(pages []string) error {
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		scripts := commands.Marked(string(text))
		if len(scripts) == 0 {
			return fmt.Errorf("%s has no marked blocks", page)
		}
		fmt.Println(strings.Join(scripts, "\n"))
	}
	return nil
}
