package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// listed are files that people edit and that list the kinds, below the directory of the ingester.
var listed = []string{
	"config/rbac/role.yaml", "config/rbac/api_role.yaml", "config/rbac/operator_role.yaml", "docs/openapi.yaml",
	"../../deploy/nats/ingester.conf",
}

// writeLists updates the lists of kinds in these files.
func writeLists(root string, kinds []*registry.Kind) error {
	for _, name := range listed {
		path := filepath.Join(root, filepath.FromSlash(name))
		before, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read a list of kinds: %w", err)
		}
		after, err := fillLists(string(before), kinds)
		if err != nil {
			return fmt.Errorf("write the kinds of %s: %w", path, err)
		}
		if err := write(path, []byte(after)); err != nil {
			return err
		}
	}
	return nil
}

var (
	// inline matches a list in one line: "models, pipelines" or "models/status, pipelines/status".
	inline = regexp.MustCompile(`\bmodels(/[a-z]+)?(?:, [a-z]+(?:/[a-z]+)?)+`)
	// member matches a line for one kind: "- models", or a subject with the kind as a token,
	// in a list of NATS permissions or imports.
	member = regexp.MustCompile(`^(\s*(?:- |(?:\{service: .*)?"[\w.*]+\.))([a-z]+)((?:\.[*.]+"(?:\}\})?)?)$`)

	errNoList = errors.New("it contains no list with the kind Model")
)

// fillLists replaces each list of kinds in a text: resources in one line, or one resource or subject to a line. A list in
// alphabetical order stays so; others get the order of the registry.
func fillLists(text string, kinds []*registry.Kind) (string, error) {
	plurals, tokens := make([]string, len(kinds)), make([]string, len(kinds))
	for i, kind := range kinds {
		plurals[i], tokens[i] = kind.Plural, strings.ToLower(kind.Name)
	}
	lists := 0
	out := inline.ReplaceAllStringFunc(text, func(list string) string {
		lists++
		suffix := inline.FindStringSubmatch(list)[1]
		return strings.Join(plurals, suffix+", ") + suffix
	})
	lines := strings.Split(out, "\n")
	for i := 0; i < len(lines); i++ {
		found := member.FindStringSubmatch(lines[i])
		if found == nil || found[2] != plurals[0] && found[2] != tokens[0] {
			continue
		}
		names := plurals
		if found[2] == tokens[0] {
			names = tokens
		}
		from, to := extent(lines, i, found[1], found[3])
		lines = slices.Replace(lines, from, to, fill(lines[from:to], names, found[1], found[3])...)
		i = from + len(names)
		lists++
	}
	if lists == 0 {
		return "", errNoList
	}
	return strings.Join(lines, "\n"), nil
}

// extent returns the range of consecutive lines around i that differ in the kind only.
func extent(lines []string, i int, prefix, suffix string) (from, to int) {
	same := func(line string) bool {
		found := member.FindStringSubmatch(line)
		return found != nil && found[1] == prefix && found[3] == suffix
	}
	for from = i; from > 0 && same(lines[from-1]); from-- {
	}
	for to = i + 1; to < len(lines) && same(lines[to]); to++ {
	}
	return from, to
}

// fill returns a line for each name, in alphabetical order if the lines had it.
func fill(lines, names []string, prefix, suffix string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = prefix + name + suffix
	}
	if len(lines) > 1 && slices.IsSorted(lines) {
		slices.Sort(out)
	}
	return out
}
