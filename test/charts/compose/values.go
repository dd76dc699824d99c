package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document writes values.yaml, values.schema.json and the table of README.md.
func (c chart) document(values func() (string, error), schema func() ([]byte, error)) error {
	text, err := values()
	if err != nil {
		return err
	}
	shape, err := schema()
	if err != nil {
		return err
	}
	rows, err := table(text)
	if err != nil {
		return fmt.Errorf("values: %w", err)
	}
	return errors.Join(
		write(filepath.Join(c.dir, "values.yaml"), []byte(text)),
		write(filepath.Join(c.dir, "values.schema.json"), shape),
		c.tabulate(rows),
	)
}

// serviceValues returns the shared values followed by those of the service.
func (c chart) serviceValues() (string, error) {
	shared, err := os.ReadFile(filepath.Join(c.parts, "values.yaml"))
	if err != nil {
		return "", err
	}
	own, err := os.ReadFile(filepath.Join(c.parts, c.service, "values.yaml"))
	if err != nil {
		return "", err
	}
	text, err := c.include(string(shared) + string(own))
	return c.fill(text), err
}

func (c chart) definitionValues() (string, error) {
	text, err := os.ReadFile(filepath.Join(c.parts, "crds.values.yaml"))
	return string(text), err
}

// included matches a line "# + NAME", which includes values.NAME.yaml of the service or the shared one.
var included = regexp.MustCompile(`(?m)^ *# \+ (\w+)\n`)

func (c chart) include(text string) (string, error) {
	var errs []error
	out := included.ReplaceAllStringFunc(text, func(line string) string {
		name := "values." + included.FindStringSubmatch(line)[1] + ".yaml"
		for _, dir := range []string{filepath.Join(c.parts, c.service), c.parts} {
			part, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				return string(part)
			}
			if !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		return "" // not every service has it
	})
	return regexp.MustCompile(`\n{3,}`).ReplaceAllString(out, "\n\n"), errors.Join(errs...)
}

// row is a row of the table of values.
type row struct{ key, fallback, text string }

// table lists the values in their order. Each must have a comment "# -- ...".
func table(text string) ([]row, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	return rowsOf("", document.Content[0])
}

func rowsOf(prefix string, mapping *yaml.Node) (rows []row, err error) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := prefix + key.Value
		_, description, described := strings.Cut(key.HeadComment, "# -- ")
		if !described && value.Kind == yaml.MappingNode {
			inner, err := rowsOf(name+".", value)
			if err != nil {
				return nil, err
			}
			rows = append(rows, inner...)
			continue
		}
		if !described {
			return nil, fmt.Errorf("%s has no comment that begins with -- ", name)
		}
		fallback, err := oneLine(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, row{key: name, fallback: fallback, text: strings.Join(strings.Fields(strings.ReplaceAll(description, "\n#", " ")), " ")})
	}
	return rows, nil
}

// oneLine prints a value as flow YAML.
func oneLine(value *yaml.Node) (string, error) {
	flow := *value
	flatten(&flow)
	out, err := yaml.Marshal(&flow)
	return strings.TrimSpace(string(out)), err
}

func flatten(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		n.Style = yaml.FlowStyle
	}
	for i, inner := range n.Content {
		child := *inner
		flatten(&child)
		n.Content[i] = &child
	}
}

// The markers of the table in README.md.
const start, end = "<!-- values: written by make generate -->\n", "<!-- end of values -->"

func (c chart) tabulate(rows []row) error {
	file := filepath.Join(c.dir, "README.md")
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, found := strings.Cut(string(page), start)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s lacks the markers of the table of values", file)
	}
	var b strings.Builder
	b.WriteString("| value | default | |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", r.key, r.fallback, strings.ReplaceAll(r.text, "|", `\|`))
	}
	return write(file, []byte(head+start+b.String()+end+tail))
}
