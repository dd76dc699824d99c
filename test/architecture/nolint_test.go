package architecture

import (
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// directive matches a nolint comment: its linters, without spaces, then its reason.
var directive = regexp.MustCompile(`^//nolint:([a-z0-9,]+) // \S`)

// enabledLinters returns the linters that .golangci.yml enables.
func enabledLinters(t *testing.T) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile("../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Default string   `json:"default"`
			Enable  []string `json:"enable"`
		} `json:"linters"`
	}
	if err := yaml.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	if config.Linters.Default != "none" || len(config.Linters.Enable) < 20 {
		t.Fatalf("got default %q and %d linters, want none and at least 20", config.Linters.Default, len(config.Linters.Enable))
	}
	if !slices.IsSorted(config.Linters.Enable) {
		t.Error(".golangci.yml: the enabled linters are not sorted")
	}
	out := map[string]bool{}
	for _, name := range config.Linters.Enable {
		out[name] = true
	}
	return out
}

// nolintProblems returns the nolint directives of a source without a linter, without a reason or with a linter that is not
// enabled. golangci-lint reports unused directives only for enabled linters.
func nolintProblems(source []byte, enabled map[string]bool) []string {
	var out []string
	files := token.NewFileSet()
	f := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(f, source, nil, scanner.ScanComments)
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return out
		}
		if kind != token.COMMENT || !strings.HasPrefix(text, "//nolint") {
			continue
		}
		line := files.Position(pos).Line
		match := directive.FindStringSubmatch(text)
		if match == nil {
			out = append(out, fmt.Sprintf("%d: want //nolint:LINTER // reason", line))
			continue
		}
		for name := range strings.SplitSeq(match[1], ",") {
			if !enabled[name] {
				out = append(out, fmt.Sprintf("%d: linter %q is not enabled", line, name))
			}
		}
	}
}

func TestNolintNamesEnabledLinters(t *testing.T) {
	enabled := enabledLinters(t)
	for _, f := range sources(t) {
		raw, err := os.ReadFile("../../" + f.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range nolintProblems(raw, enabled) {
			t.Errorf("%s:%s", f.path, problem)
		}
	}
}

func TestNolintProblemsAreReported(t *testing.T) {
	source := []byte(`package thing

const text = "//nolint:nilnil // in a string"

func a() {} //nolint:gosec // a reason
func b() {} //nolint:gosec,nilnil // a reason
func c() {} //nolint
func d() {} //nolint:gosec
`)
	if _, err := parser.ParseFile(token.NewFileSet(), "", source, 0); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`6: linter "nilnil" is not enabled`, `7: want //nolint:LINTER // reason`, `8: want //nolint:LINTER // reason`,
	}
	if got := nolintProblems(source, map[string]bool{"gosec": true}); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
