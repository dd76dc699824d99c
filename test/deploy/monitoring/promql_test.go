package monitoring

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

var promQL = parser.NewParser(parser.Options{})

// scraped are the labels that Prometheus adds to every series.
var scraped = []string{"job", "instance", "pod", "namespace", "container", "endpoint"}

// overTime are the functions that apply to counters.
var overTime = []string{"rate", "irate", "increase", "resets", "absent", "absent_over_time", "last_over_time"}

// gauges have the name of a counter, for compatibility with the specification.
var gauges = []string{"firebolt_engine_pods_total"}

// check parses an expression. The error lists unknown metrics and labels, and misused ones.
func (c catalog) check(expression string) error {
	expr, err := promQL.ParseExpr(expression)
	if err != nil {
		return fmt.Errorf("parse PromQL: %w", err)
	}
	var problems []error
	found := 0
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			found++
			problems = append(problems, c.checkSelector(n, path))
		case *parser.AggregateExpr:
			if !n.Without {
				problems = append(problems, c.checkGrouping(n))
			}
		}
		return nil
	})
	if found == 0 {
		problems = append(problems, errors.New("no metric in it"))
	}
	return errors.Join(problems...)
}

func (c catalog) checkSelector(n *parser.VectorSelector, path []parser.Node) error {
	known, ok := c.find(n.Name)
	if !ok {
		return fmt.Errorf("unknown metric %q", n.Name)
	}
	for _, m := range n.LabelMatchers {
		if m.Name != model.MetricNameLabel && !slices.Contains(known, m.Name) && !slices.Contains(scraped, m.Name) {
			return fmt.Errorf("%s has no label %q, want one of %v", n.Name, m.Name, known)
		}
	}
	counter := strings.HasSuffix(n.Name, "_total") || strings.HasSuffix(n.Name, "_bucket")
	if counter && !slices.Contains(gauges, n.Name) && !slices.ContainsFunc(path, isOverTime) {
		return fmt.Errorf("%s is a counter: use a function such as rate", n.Name)
	}
	return nil
}

func isOverTime(n parser.Node) bool {
	call, ok := n.(*parser.Call)
	return ok && slices.Contains(overTime, call.Func.Name)
}

// checkGrouping returns an error if no series below an aggregation has one of its labels.
func (c catalog) checkGrouping(n *parser.AggregateExpr) error {
	carried := slices.Clone(scraped)
	parser.Inspect(n.Expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			known, _ := c.find(selector.Name)
			carried = append(carried, known...)
		}
		return nil
	})
	for _, label := range n.Grouping {
		if !slices.Contains(carried, label) {
			return fmt.Errorf("%s by %q: no series below has that label", n.Op, label)
		}
	}
	return nil
}

func TestCheckRejectsInvalidPromQL(t *testing.T) {
	c := catalog{"a_total": {"kind"}, "b": {"kind"}, "c_seconds": {}}
	for expression, ok := range map[string]bool{
		`sum by (kind) (rate(a_total[5m]))`:                   true,
		`b{kind="x",job="y"} > 0`:                             true,
		`histogram_quantile(0.9, rate(c_seconds_bucket[5m]))`: true,
		`sum by (kind (b)`:                                    false,
		`d > 0`:                                               false,
		`b{color="x"}`:                                        false,
		`sum by (color) (b)`:                                  false,
		`a_total > 3`:                                         false,
		`last_over_time(a_total[5m]) > 3`:                     true,
		`vector(1)`:                                           false,
	} {
		if err := c.check(expression); (err == nil) != ok {
			t.Errorf("%s: %v", expression, err)
		}
	}
}
