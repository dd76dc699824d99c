package monitoring

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard holds the fields of Grafana's model that the test reads.
type dashboard struct {
	UID         string `json:"uid"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Tags        []string
	Templating  struct {
		List []variable `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type variable struct {
	Name       string      `json:"name"`
	Type       string      `json:"type"`
	Datasource *datasource `json:"datasource"`
	Definition string      `json:"definition"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Datasource  *datasource `json:"datasource"`
	Targets     []target    `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

type target struct {
	RefID        string      `json:"refId"`
	Expr         string      `json:"expr"`
	LegendFormat string      `json:"legendFormat"`
	Datasource   *datasource `json:"datasource"`
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(root + "deploy/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	out := map[string]dashboard{}
	for _, file := range files {
		var d dashboard
		if err := json.Unmarshal([]byte(text(t, strings.TrimPrefix(file, root))), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[filepath.Base(file)] = d
	}
	return out
}

var (
	labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	variables   = regexp.MustCompile(`\$(?:\{(\w+)\}|(\w+))`)
	inLegend    = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
)

// grafanas are the built-in variables of Grafana, with a value of their type.
var grafanas = map[string]string{"__rate_interval": "5m", "__interval": "1m", "__range": "6h"}

func TestPanelsUseExistingMetrics(t *testing.T) {
	c := everyMetric(t)
	for name, d := range dashboards(t) {
		t.Run(name, func(t *testing.T) {
			known := map[string]bool{}
			for _, v := range d.Templating.List {
				known[v.Name] = true
				if v.Type != "query" {
					continue
				}
				query := labelValues.FindStringSubmatch(v.Definition)
				if query == nil {
					t.Errorf("variable %s: %q is not label_values(series, label)", v.Name, v.Definition)
					continue
				}
				// The series may be a counter: only its labels are read.
				if labels, ok := c.find(query[1]); !ok || !slices.Contains(labels, query[2]) {
					t.Errorf("variable %s: label %q not found on %q", v.Name, query[2], query[1])
				}
			}
			for _, p := range d.Panels {
				for _, problem := range c.checkPanel(p, known) {
					t.Errorf("panel %q: %s", p.Title, problem)
				}
			}
		})
	}
}

// expand replaces the variables of an expression with values, and returns the names of the dashboard variables.
func expand(expression string) (expanded string, names []string) {
	expanded = variables.ReplaceAllStringFunc(expression, func(v string) string {
		name := strings.Trim(v, "${}")
		if value, ok := grafanas[name]; ok {
			return value
		}
		names = append(names, name)
		return ".*"
	})
	return expanded, names
}

func (c catalog) checkPanel(p panel, variablesKnown map[string]bool) []string {
	if p.Type == "row" {
		return nil
	}
	var problems []string
	if len(p.Targets) == 0 {
		problems = append(problems, "has no targets")
	}
	for _, target := range p.Targets {
		expression, names := expand(target.Expr)
		for _, name := range names {
			if !variablesKnown[name] {
				problems = append(problems, "unknown variable "+name)
			}
		}
		if err := c.check(expression); err != nil && !strings.Contains(err.Error(), "no metric in it") {
			problems = append(problems, fmt.Sprintf("%s: %v", target.Expr, err))
		}
		expr, err := promQL.ParseExpr(expression)
		if err != nil {
			continue
		}
		for _, label := range inLegend.FindAllStringSubmatch(target.LegendFormat, -1) {
			if kept := c.labelsOf(expr); !slices.Contains(kept, label[1]) {
				problems = append(problems, fmt.Sprintf("%s: the legend names %q, the result has %v", target.Expr, label[1], kept))
			}
		}
	}
	return problems
}

// counts are the gauges that count the objects of a release, with the labels of some of their series. All replicas may
// serve them.
var counts = map[string][]string{
	"superset_instances": {`phase="AwaitingApproval",`, `phase="Degraded",`}, "superset_tasks_cannot_start": {`task="migrate",`},
	"superset_maintenance_active": {""}, "firebolt_engine_rollouts_held": {""},
}

// TestCountsAddShards checks that panels, and alerts that show a number, add the shards, and count no replica twice.
func TestCountsAddShards(t *testing.T) {
	expressions := map[string]string{}
	for name, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expressions[name+" "+p.Title], _ = expand(target.Expr)
			}
		}
	}
	_, alerts := rules(t)
	for _, a := range alerts {
		if strings.Contains(a.Annotations["description"], "$value") {
			expressions[a.Alert] = a.Expr
		}
	}
	for metric, series := range counts {
		shown := false
		for where, expression := range expressions {
			if !strings.Contains(expression, metric) {
				continue
			}
			shown = true
			got := sums(t, metric, series, expression)
			if !slices.Contains(got, 5) || slices.ContainsFunc(got, func(v float64) bool { return v != 5 && v != 0 }) {
				t.Errorf("%s: %s is %v, want 5", where, expression, got)
			}
		}
		if !shown {
			t.Errorf("no panel shows %s", metric)
		}
	}
}

// sums returns the values of an expression for one of the series at a time, of two releases.
func sums(t *testing.T, metric string, series []string, expression string) []float64 {
	t.Helper()
	var out []float64
	for _, labels := range series {
		p := load(t,
			metric+`{`+labels+`job="metrics",namespace="flotilla-a",pod="a1"} 2`,
			metric+`{`+labels+`job="metrics",namespace="flotilla-a",pod="a2"} 2`,
			metric+`{`+labels+`job="metrics",namespace="flotilla-b",pod="b1"} 3`)
		for _, sample := range p.query(t, expression, 0) {
			out = append(out, sample.F)
		}
	}
	return out
}

func TestDashboardsAreWellFormed(t *testing.T) {
	uids := map[string]string{}
	for name, d := range dashboards(t) {
		if other, twice := uids[d.UID]; twice || d.UID == "" {
			t.Errorf("%s has the uid %q, as %s", name, d.UID, other)
		}
		uids[d.UID] = name
		if d.Title == "" || d.Description == "" || !slices.Contains(d.Tags, "flotilla") {
			t.Errorf("%s lacks a title, a description or the tag flotilla", name)
		}
		if !slices.ContainsFunc(d.Templating.List, func(v variable) bool { return v.Name == "datasource" && v.Type == "datasource" }) {
			t.Errorf("%s has no variable for the data source", name)
		}
		ids := map[int]bool{}
		for i, p := range d.Panels {
			if ids[p.ID] {
				t.Errorf("%s: two panels have the id %d", name, p.ID)
			}
			ids[p.ID] = true
			if p.GridPos.W <= 0 || p.GridPos.H <= 0 || p.GridPos.X < 0 || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: %q lies outside the grid", name, p.Title)
			}
			for _, other := range d.Panels[:i] {
				if overlap(p, other) {
					t.Errorf("%s: %q lies on %q", name, p.Title, other.Title)
				}
			}
			if p.Type == "row" {
				continue
			}
			if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" {
				t.Errorf("%s: panel %d %q lacks a title, a description or a unit", name, p.ID, p.Title)
			}
			for _, source := range append([]*datasource{p.Datasource}, sources(p)...) {
				if source == nil || source.UID != "${datasource}" {
					t.Errorf("%s: %q does not use the selected data source", name, p.Title)
				}
			}
		}
	}
}

func sources(p panel) []*datasource {
	var out []*datasource
	for _, target := range p.Targets {
		out = append(out, target.Datasource)
	}
	return out
}

func overlap(a, b panel) bool {
	p, q := a.GridPos, b.GridPos
	return p.X < q.X+q.W && q.X < p.X+p.W && p.Y < q.Y+q.H && q.Y < p.Y+p.H
}

// TestAggregatorMetricsAreShown checks that a panel or a rule uses each metric of the aggregator.
func TestAggregatorMetricsAreShown(t *testing.T) {
	own := catalog{}
	own.readDoc(t, aggregatorTable)
	all := text(t, "deploy/grafana/flotilla-status.json") + text(t, rulesFile)
	for name := range own {
		if !strings.Contains(all, name) {
			t.Errorf("neither a panel nor a rule uses %s", name)
		}
	}
}
