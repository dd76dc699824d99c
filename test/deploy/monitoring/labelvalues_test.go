package monitoring

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/common/model"
	promparser "github.com/prometheus/prometheus/promql/parser"
)

// alternatives is a regular expression that lists values.
var alternatives = regexp.MustCompile(`^\w+(\|\w+)*$`)

// literals returns all string literals in the code of the services, which include the label values that rules select.
var literals = sync.OnceValues(func() (map[string]bool, error) {
	out := map[string]bool{"true": true, "false": true}
	for _, dir := range []string{"services", "libs"} {
		err := filepath.WalkDir(root+dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if value, err := strconv.Unquote(l.Value); err == nil {
						out[value] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
})

// checkValues reports label values that an expression selects but no code sets.
func checkValues(t *testing.T, where, expression string) int {
	t.Helper()
	known, err := literals()
	if err != nil {
		t.Fatal(err)
	}
	expr, err := promQL.ParseExpr(expression)
	if err != nil {
		return 0 // reported by check
	}
	missing, selected := unknownValues(expr, known)
	for _, value := range missing {
		t.Errorf("%s selects %s, which no code sets: %s", where, value, expression)
	}
	return selected
}

// unknownValues returns the unknown ones of the selected values, as label="value", and the number of selected values. It
// ignores labels that the scrape adds and patterns other than lists of values.
func unknownValues(expr promparser.Expr, known map[string]bool) (missing []string, selected int) {
	promparser.Inspect(expr, func(node promparser.Node, _ []promparser.Node) error {
		selector, ok := node.(*promparser.VectorSelector)
		if !ok {
			return nil
		}
		for _, m := range selector.LabelMatchers {
			if m.Name == model.MetricNameLabel || slices.Contains(scraped, m.Name) || !alternatives.MatchString(m.Value) {
				continue
			}
			for value := range strings.SplitSeq(m.Value, "|") {
				selected++
				if !known[value] {
					missing = append(missing, m.Name+`="`+value+`"`)
				}
			}
		}
		return nil
	})
	return missing, selected
}

func TestLabelValuesAreSetByCode(t *testing.T) {
	records, alerts := rules(t)
	selected := 0
	for _, r := range slices.Concat(records, alerts) {
		selected += checkValues(t, r.Record+r.Alert, r.Expr)
	}
	for name, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expression, _ := expand(target.Expr)
				selected += checkValues(t, name+", "+p.Title, expression)
			}
		}
	}
	if selected < 50 {
		t.Errorf("found only %d selected label values: the parser is broken", selected)
	}
}

func TestUnknownLabelValuesAreReported(t *testing.T) {
	expr, err := promQL.ParseExpr(`sum(rate(a_total{state="Alive",result=~"failed|gone",pod="x",kind=~".*"}[5m]))`)
	if err != nil {
		t.Fatal(err)
	}
	missing, selected := unknownValues(expr, map[string]bool{"Alive": true, "failed": true})
	if selected != 3 || !slices.Equal(missing, []string{`result="gone"`}) {
		t.Errorf("got %d selected and %v missing, want 3 and result=\"gone\"", selected, missing)
	}
}
