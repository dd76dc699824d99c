package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func TestStatusListsInstalledKinds(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	create(t, ns, "fleet.yaml")
	s := newShell(t, ns)
	s.golden("status.txt", s.run("status"))
	s.golden("status-wide.txt", s.run("status", "-o", "wide"))
	s.golden("status-kind.txt", s.run("status", "fireng"))
	if all := s.run("status", "-A", "--no-headers"); !strings.Contains(all, ns+" ") {
		t.Errorf("got no namespace column in\n%s", all)
	}
}

func TestStatusShowsResourceTree(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	create(t, ns, "fleet.yaml")
	s := newShell(t, ns)
	s.golden("tree-superset.txt", s.run("status", "superset/main"))
	s.golden("tree-new.txt", s.run("status", "superset", "new"))
	s.golden("tree-firebolt.txt", s.run("status", "fireboltengines/shop", "fire/shop"))
	for name, args := range map[string][]string{
		"the plural": {"status", "supersets/main"}, "another case": {"status", "Superset/main"},
		"with the group": {"status", "supersets.superset.apache.org/main"}, "two words": {"status", "supersets", "main"},
	} {
		if got := s.run(args...); !strings.HasPrefix(got, "superset/main in "+ns) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestStatusPrintsJSONAndYAML(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	create(t, ns, "fleet.yaml")
	s := newShell(t, ns)
	var list struct{ Items []view.Resource }
	if err := json.Unmarshal([]byte(s.run("status", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 4 || list.Items[0].Name != "main" || len(list.Items[0].Conditions) != 7 || list.Items[0].Phase != "Degraded" {
		t.Errorf("unexpected list %+v", list.Items)
	}
	var one view.Resource
	if err := yaml.Unmarshal([]byte(s.run("status", "superset/main", "-o", "yaml")), &one); err != nil {
		t.Fatal(err)
	}
	if one.DeployedVersion != "6.0.0" || one.Namespace != ns {
		t.Errorf("unexpected resource %+v", one)
	}
	s.fail("not one of json, yaml, wide", "status", "-o", "xml")
}

func TestStatusReportsEmptyNamespace(t *testing.T) {
	s := newShell(t, cluster.Get(t).Namespace(t))
	if out := s.run("status"); out != "" || !strings.Contains(s.err.String(), "No resources found in namespace") {
		t.Errorf("got %q and %q", out, s.err)
	}
	if out := s.run("status", "-o", "json"); !strings.Contains(out, `"items": []`) {
		t.Errorf("got %q", out)
	}
}

func TestStatusWatchRequiresNamedResource(t *testing.T) {
	s := newShell(t, cluster.Get(t).Namespace(t))
	s.fail("superset/none: not found in namespace", "status", "superset/none", "--watch")
}

func TestStatusWatchShowsEachChange(t *testing.T) {
	for name, tc := range map[string]struct {
		args        []string
		first, next string
	}{
		"a list": {[]string{"status", "-w"}, "superset/main", "Stalled"},
		"a tree": {[]string{"status", "superset/main", "-w"}, "InsufficientReplicas", "Stalled"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := cluster.Get(t).Namespace(t)
			objects := create(t, ns, "fleet.yaml")
			s := newShell(t, ns)
			ctx, stop := context.WithCancel(t.Context())
			done := s.background(ctx, tc.args...)
			outputContains := func(text string) func() error {
				return func() error {
					if out := s.out.String(); !strings.Contains(out, text) {
						return fmt.Errorf("no %q in\n%s", text, out)
					}
					return nil
				}
			}
			expect.Eventually(t, expect.Long, outputContains(tc.first))
			patchStatus(t, objects[0], map[string]any{"status": map[string]any{"conditions": []any{
				condition("Available", "True", "AllComponentsReady", 1), condition("Degraded", "True", "Stalled", 1),
			}}})
			expect.Eventually(t, expect.Long, outputContains(tc.next))
			stop()
			if err := <-done; err != nil {
				t.Errorf("interrupted watch: got %v, want nil", err)
			}
		})
	}
}
