package monitoring

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ownMetric matches a code span that begins with a metric of Flotilla, with or without labels, or with the prefix of several.
var ownMetric = regexp.MustCompile("`((?:flotilla|superset|firebolt)_[a-z0-9_]+)(?:[{\\[][^`]*)?`")

// ofTheEngine lists metrics of the Firebolt engine itself.
var ofTheEngine = []string{"firebolt_running_queries", "firebolt_suspended_queries"}

// TestPagesNameExistingMetrics compares the metrics in runbooks and tables, and the selected label values, with the code.
func TestPagesNameExistingMetrics(t *testing.T) {
	known := everyMetric(t)
	named := 0
	for _, dir := range []string{"docs", "deploy", "services", "libs"} {
		err := filepath.WalkDir(root+dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".md" || d.Name() == "CHANGELOG.md" {
				return err
			}
			raw, err := os.ReadFile(path)
			for _, m := range ownMetric.FindAllStringSubmatch(string(raw), -1) {
				if strings.HasSuffix(m[1], "_") || slices.Contains(ofTheEngine, m[1]) {
					continue
				}
				named++
				if _, exists := known.find(m[1]); !exists {
					t.Errorf("%s: unknown metric %s", strings.TrimPrefix(path, root), m[1])
				}
				checkValues(t, strings.TrimPrefix(path, root), strings.Trim(m[0], "`"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if named < 50 {
		t.Errorf("found only %d metrics: the parser is broken", named)
	}
}

// alertName matches a code span that is the name of an alert.
var alertName = regexp.MustCompile("`(Flotilla[A-Z]\\w*)`")

func TestPagesNameExistingAlerts(t *testing.T) {
	_, alerts := rules(t)
	known := map[string]bool{}
	for _, a := range alerts {
		known[a.Alert] = true
	}
	named := 0
	for _, dir := range []string{"docs", "deploy", "services", "libs"} {
		err := filepath.WalkDir(root+dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".md" || d.Name() == "CHANGELOG.md" {
				return err
			}
			raw, err := os.ReadFile(path)
			for _, m := range alertName.FindAllStringSubmatch(string(raw), -1) {
				named++
				if !known[m[1]] {
					t.Errorf("%s: unknown alert %s", strings.TrimPrefix(path, root), m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if named == 0 {
		t.Error("found no alerts: the parser is broken")
	}
}
