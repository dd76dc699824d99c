package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// explained maps directories of code to the page that explains the reasons in it.
var explained = func() map[string]string {
	out := map[string]string{"libs/conditions": "services/status-aggregator/docs/guide.md"}
	for _, service := range services {
		out["services/"+service] = "services/" + service + "/docs/guide.md"
	}
	return out
}()

var row = regexp.MustCompile("(?m)^\\| `(\\w+)` \\|")

func TestReasonsHaveRows(t *testing.T) {
	total := 0
	for dir, guide := range explained {
		rows := map[string]bool{}
		for _, m := range row.FindAllStringSubmatch(read(t, guide), -1) {
			rows[m[1]] = true
		}
		for reason, where := range reasons(t, dir) {
			total++
			if !rows[reason] {
				t.Errorf("%s has no row for the reason %s of %s", guide, reason, where)
			}
		}
	}
	if total < 80 {
		t.Errorf("found only %d reasons: the parser is broken", total)
	}
}

// Each row explains a reason that a program still uses.
func TestReasonRowsAreUsed(t *testing.T) {
	libs := sources(t, "libs")
	for dir, guide := range explained {
		mentioned := libs + sources(t, dir)
		for _, m := range row.FindAllStringSubmatch(read(t, guide), -1) {
			if !strings.Contains(mentioned, `"`+m[1]+`"`) {
				t.Errorf("%s explains %s, which no program uses", guide, m[1])
			}
		}
	}
}

// reasons returns the values of all string constants below a directory whose names begin with
// Reason or reason, and the file of each.
func reasons(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, value := range constants(file, "Reason") {
			out[value] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// constants returns the values of the string constants in a file whose names have a prefix. The case of the first letter
// does not matter.
func constants(file *ast.File, prefix string) []string {
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		for i, name := range spec.Names {
			if i >= len(spec.Values) || len(name.Name) <= len(prefix) || !strings.EqualFold(name.Name[:len(prefix)], prefix) {
				continue
			}
			if literal, is := spec.Values[i].(*ast.BasicLit); is && literal.Kind == token.STRING {
				if value, err := strconv.Unquote(literal.Value); err == nil {
					out = append(out, value)
				}
			}
		}
		return true
	})
	return out
}
