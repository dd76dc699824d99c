package monitoring

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write deploy/prometheus/prometheusrule.yaml")

const (
	rulesFile    = "deploy/prometheus/flotilla.rules.yaml"
	operatorFile = "deploy/prometheus/prometheusrule.yaml"
	runbooksFile = "deploy/prometheus/runbooks.md"
	runbooksURL  = "https://github.com/flotilla-dev/flotilla/blob/main/" + runbooksFile + "#"
)

// ruleFile is a rule file of Prometheus.
type ruleFile struct {
	Groups []group `json:"groups"`
}

type group struct {
	Name     string `json:"name"`
	Interval string `json:"interval,omitempty"`
	Rules    []rule `json:"rules"`
}

type rule struct {
	Record      string            `json:"record,omitempty"`
	Alert       string            `json:"alert,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// rules returns the recording rules and the alerts, in order.
func rules(t *testing.T) (records, alerts []rule) {
	t.Helper()
	var file ruleFile
	if err := yaml.UnmarshalStrict([]byte(text(t, rulesFile)), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				alerts = append(alerts, r)
			} else {
				records = append(records, r)
			}
		}
	}
	if len(records) == 0 || len(alerts) == 0 {
		t.Fatal("no rules")
	}
	return records, alerts
}

// withRecords adds the recorded series, with the labels of the outermost aggregation of their rule.
func (c catalog) withRecords(t *testing.T, records []rule) catalog {
	t.Helper()
	for _, r := range records {
		expr, err := promQL.ParseExpr(r.Expr)
		if err != nil {
			t.Fatalf("%s: %v", r.Record, err)
		}
		c[r.Record] = c.labelsOf(expr)
	}
	return c
}

// labelsOf returns the labels of the result of an expression.
func (c catalog) labelsOf(expr parser.Expr) []string {
	switch e := expr.(type) {
	case *parser.VectorSelector:
		known, _ := c.find(e.Name)
		return known
	case *parser.MatrixSelector:
		return c.labelsOf(e.VectorSelector)
	case *parser.AggregateExpr:
		if e.Op == parser.TOPK {
			return c.labelsOf(e.Expr)
		}
		return e.Grouping
	case *parser.BinaryExpr:
		left := c.labelsOf(e.LHS)
		if e.Op == parser.LOR || len(left) == 0 {
			return append(slices.Clone(left), c.labelsOf(e.RHS)...)
		}
		return left
	case *parser.ParenExpr:
		return c.labelsOf(e.Expr)
	case *parser.Call: // of the functions in use, all keep the labels
		if len(e.Args) == 0 {
			return nil
		}
		return c.labelsOf(e.Args[len(e.Args)-1])
	}
	return nil
}

func TestRulesUseExistingMetrics(t *testing.T) {
	records, alerts := rules(t)
	c := everyMetric(t).withRecords(t, records)
	for _, r := range slices.Concat(records, alerts) {
		if err := c.check(r.Expr); err != nil {
			t.Errorf("%s%s: %v", r.Record, r.Alert, err)
		}
		c.checkAnnotations(t, r)
		if r.For != "" {
			if _, err := model.ParseDuration(r.For); err != nil {
				t.Errorf("%s: for: %v", r.Alert, err)
			}
		}
	}
}

var mentioned = regexp.MustCompile(`\$labels\.(\w+)`)

// checkAnnotations reports labels in the annotations of an alert that its expression does not have.
func (c catalog) checkAnnotations(t *testing.T, r rule) {
	t.Helper()
	expr, err := promQL.ParseExpr(r.Expr)
	if err != nil {
		return // already reported
	}
	for _, text := range r.Annotations {
		for _, label := range mentioned.FindAllStringSubmatch(text, -1) {
			if has := c.labelsOf(expr); !slices.Contains(has, label[1]) {
				t.Errorf("an annotation of %s uses the label %q, want one of %v", r.Alert, label[1], has)
			}
		}
	}
}

var sections = regexp.MustCompile(`(?m)^## (\w+)\n\n(- \*\*Meaning\*\*[^#]+- \*\*Diagnosis\*\*[^#]+- \*\*Mitigation\*\*[^#]+)`)

// runbooks returns the sections of the runbooks by alert.
func runbooks(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	// Links to sections contain a #, at which the expression above would end a section.
	page := regexp.MustCompile(`#[\w-]+\)`).ReplaceAllString(text(t, runbooksFile), ")")
	for _, section := range sections.FindAllStringSubmatch(page, -1) {
		out[section[1]] = section[2]
	}
	return out
}

func TestAlertsHaveRunbooks(t *testing.T) {
	_, alerts := rules(t)
	runbooks := runbooks(t)
	for _, a := range alerts {
		if runbooks[a.Alert] == "" {
			t.Errorf("%s has no section in %s with Meaning, Diagnosis and Mitigation", a.Alert, runbooksFile)
		}
		delete(runbooks, a.Alert)
		if got := a.Annotations["runbook_url"]; got != runbooksURL+strings.ToLower(a.Alert) {
			t.Errorf("%s: runbook_url is %q", a.Alert, got)
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			t.Errorf("%s lacks a summary or a description", a.Alert)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]) {
			t.Errorf("%s has severity %q", a.Alert, a.Labels["severity"])
		}
	}
	for name := range runbooks {
		t.Errorf("%s has a section for %s, which is not an alert", runbooksFile, name)
	}
}

// An alert about absent series does not end where a service is not installed, so its runbook names what to remove.
func TestAbsenceRunbooksNameWhatToRemove(t *testing.T) {
	_, alerts := rules(t)
	runbooks := runbooks(t)
	for _, a := range alerts {
		if strings.Contains(a.Expr, "absent(") && !strings.Contains(runbooks[a.Alert], "remove") {
			t.Errorf("the runbook of %s does not name what to remove", a.Alert)
		}
	}
}

// A task is a block of lifecycle with a trigger.
func TestTaskRunbookNamesAllTasks(t *testing.T) {
	type schema struct {
		Properties map[string]schema `json:"properties"`
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(text(t, "services/superset-operator/config/crd/superset.apache.org_supersets.yaml")), &crd); err != nil {
		t.Fatal(err)
	}
	tasks := 0
	for task, block := range crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["lifecycle"].Properties {
		if _, found := block.Properties["trigger"]; !found {
			continue
		}
		tasks++
		if !strings.Contains(runbooks(t)["FlotillaSupersetTaskFailed"], "`"+task+"`") {
			t.Errorf("the runbook of FlotillaSupersetTaskFailed does not name the task %s", task)
		}
	}
	if tasks == 0 {
		t.Error("found no task")
	}
}

const operatorHead = `# The rules of flotilla.rules.yaml for the Prometheus operator. Made by the tests of test/deploy/monitoring (-update).
`

// TestPrometheusRuleMatchesRulesFile compares the generated file with the manually written one.
func TestPrometheusRuleMatchesRulesFile(t *testing.T) {
	var file ruleFile
	if err := yaml.UnmarshalStrict([]byte(text(t, rulesFile)), &file); err != nil {
		t.Fatal(err)
	}
	raw, err := yaml.Marshal(map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
		"metadata": map[string]any{"name": "flotilla", "labels": map[string]string{"app.kubernetes.io/part-of": "flotilla"}},
		"spec":     file,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := operatorHead + string(raw)
	if *update {
		if err := os.WriteFile(root+operatorFile, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text(t, operatorFile) != want {
		t.Errorf("%s differs from the rules: go test ./monitoring -update", operatorFile)
	}
}
