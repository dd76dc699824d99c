package validation

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the tables of docs/templates.md")

const (
	document  = "../../docs/templates.md"
	beginMark = "<!-- rules -->\n"
	endMark   = "<!-- /rules -->"
)

func TestPageListsRules(t *testing.T) {
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, tail, ok := strings.Cut(string(raw), beginMark)
	listed, after, okListed := strings.Cut(tail, endMark)
	if !ok || !okListed {
		t.Fatalf("%s has no place for the tables", document)
	}
	want := tables()
	if *update {
		if err := os.WriteFile(document, []byte(before+beginMark+want+endMark+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("%s (-rules +document); run this test with -update:\n%s", document, diff)
	}
}

// The example in the page is the actual message.
func TestPageShowsActualMessage(t *testing.T) {
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	class := classWith(t, `spec: {hostNetwork: true, containers: [{name: engine, command: [sleep]}]}`)
	if want := "\n" + Message(Class(class)) + "\n"; !strings.Contains(string(raw), want) {
		t.Errorf("%s does not show:%s", document, want)
	}
}

// tables returns the rules as Markdown.
func tables() string {
	var b strings.Builder
	b.WriteString("\n## Metadata of a template\n\n| field | may be set |\n|---|---|\n")
	for _, name := range metadataFields.sorted() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, metadataFields.supportLabel(name))
	}
	fmt.Fprintf(&b, "\nKeys of labels and annotations that begin with `%s` are the operator's.\n", reservedPrefix)
	b.WriteString("\n## Fields of the pod, the same for every component\n\n| field | may be set |\n|---|---|\n")
	for _, name := range podFields.sorted() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, podFields.supportLabel(name))
	}
	b.WriteString("\n## Fields of the main container\n\n| field |")
	for _, c := range components {
		fmt.Fprintf(&b, " %s (`%s`) |", strings.ToLower(c.title), c.primary)
	}
	b.WriteString("\n|---|---|---|---|\n")
	for _, name := range engineFields.sorted() {
		fmt.Fprintf(&b, "| `%s` |", name)
		for _, c := range components {
			fmt.Fprintf(&b, " %s |", c.container.supportLabel(name))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Names that the operator uses\n\n| | " + strings.Join(titles(), " | ") + " |\n|---|---|---|---|\n")
	for _, row := range []struct {
		title string
		of    func(component) []string
	}{
		{"containers", func(c component) []string { return append([]string{c.primary}, c.reserved...) }},
		{"volumes", func(c component) []string { return c.volumes }},
		{"of these, volumes with Secrets", func(c component) []string { return c.secret }},
		{"variables of the main container", func(c component) []string { return c.env }},
		{"paths in the main container", func(c component) []string { return c.mountPaths }},
	} {
		fmt.Fprintf(&b, "| %s |", row.title)
		for _, c := range components {
			fmt.Fprintf(&b, " %s |", code(row.of(c.component)))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\nSecrets of these names are protected in every template, whichever instance or engine they belong to: %s.\n\n", code(protectedShapes))
	return b.String()
}

func (f fields) sorted() []string {
	out := slices.Concat(f.allowed, f.owned, f.unused)
	slices.Sort(out)
	return out
}

func (f fields) supportLabel(name string) string {
	switch {
	case slices.Contains(f.allowed, name):
		return "yes"
	case slices.Contains(f.owned, name):
		return "the operator's"
	}
	return "not used"
}

func titles() []string {
	var out []string
	for _, c := range components {
		out = append(out, strings.ToLower(c.title))
	}
	return out
}

func code(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
