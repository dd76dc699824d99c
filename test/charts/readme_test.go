package charts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/test/docs/markdown"
)

func readme(t *testing.T, name string) markdown.Page {
	t.Helper()
	return parse(t, "deploy/charts/"+name+"/README.md")
}

// The README of each chart has an example of a name that ends with the namespace of the release.
func TestReadmesNameClusterScopedObjects(t *testing.T) {
	for _, service := range services {
		var names []string
		for _, doc := range documents(t, render(t, service, "--values", renders(t)[service]["default"], "--set", "watchNamespaces={team-a}")) {
			if doc.GetNamespace() == "" {
				names = append(names, doc.GetName())
			}
		}
		examples := 0
		for _, c := range readme(t, service).Code {
			if !strings.HasSuffix(c.Text, "-"+system) {
				continue
			}
			examples++
			if !slices.Contains(names, c.Text) {
				t.Errorf("%s: %s is not a name of a cluster-scoped object: %v", service, c.Text, names)
			}
		}
		if examples == 0 {
			t.Errorf("%s: no example", service)
		}
	}
}

// The charts that do not create the streams of a bus link the command that does.
func TestReadmesLinkCommandForStreams(t *testing.T) {
	for _, service := range services {
		linked := slices.ContainsFunc(readme(t, service).Links, func(l markdown.Link) bool {
			return strings.HasSuffix(l.Target, "docs/commands.md#create-the-streams-without-the-aggregator")
		})
		if linked != (service != "status-aggregator") {
			t.Errorf("%s: linked: %t", service, linked)
		}
	}
}

// helm upgrade requires the path of the chart, also in a sentence.
func TestReadmesUpgradeWithChart(t *testing.T) {
	upgrades := 0
	files, err := filepath.Glob(filepath.Join(chartsDir, "*/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, c := range readme(t, filepath.Base(filepath.Dir(file))).Code {
			release, found := strings.CutPrefix(c.Text, "helm upgrade ")
			if !found {
				continue
			}
			upgrades++
			release, _, _ = strings.Cut(release, " ")
			if chartOf(c.Text) != release {
				t.Errorf("%s:%d: %s: no chart", file, c.Line, c.Text)
			}
		}
	}
	if upgrades < 3 {
		t.Errorf("found only %d upgrades: the parser is broken", upgrades)
	}
}
