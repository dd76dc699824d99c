package argocd

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

var update = flag.Bool("update", false, "write deploy/argocd/argocd-cm.yaml")

const (
	configMap = "argocd-cm.yaml"
	splitKey  = "resource.customizations.health."
	joinedKey = "resource.customizations"
)

// scripts maps kinds to their script; the kind "*" matches all kinds of its group.
var scripts = map[string]string{
	"superset.apache.org/Superset":            conditionsScript,
	"compute.firebolt.io/FireboltEngine":      conditionsScript,
	"compute.firebolt.io/FireboltInstance":    conditionsScript,
	"compute.firebolt.io/FireboltEngineClass": classScript,
	"michelangelo.api/*":                      michelangeloScript,
}

const head = `# Health checks of Flotilla's resources for Argo CD: a patch for its ConfigMap argocd-cm. Made of the scripts next to this
# file by the tests of test/deploy/argocd (-update); edit those.
`

// patch returns the ConfigMap with the scripts.
func patch(t *testing.T) string {
	t.Helper()
	data := map[string]string{}
	joined := map[string]map[string]string{}
	for kind, script := range scripts {
		text := read(t, script)
		group, name, _ := strings.Cut(kind, "/")
		if name == "*" { // keys of a ConfigMap must not contain an asterisk
			joined[kind] = map[string]string{"health.lua": text}
			continue
		}
		data[splitKey+group+"_"+name] = text
	}
	raw, err := yaml.Marshal(joined)
	if err != nil {
		t.Fatal(err)
	}
	data[joinedKey] = string(raw)
	raw, err = yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "argocd-cm", "labels": map[string]string{"app.kubernetes.io/name": "argocd-cm", "app.kubernetes.io/part-of": "argocd"}},
		"data":     data,
	})
	if err != nil {
		t.Fatal(err)
	}
	return head + string(raw)
}

func TestConfigMapContainsScripts(t *testing.T) {
	want := patch(t)
	if *update {
		if err := os.WriteFile(filepath.Join(scriptDir, configMap), []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, configMap) != want {
		t.Errorf("%s differs from the scripts: go test ./argocd -update", configMap)
	}
}

func TestKindsHaveHealthScripts(t *testing.T) {
	for _, token := range contract.Kinds() {
		gvk, _ := contract.Lookup(token)
		if scripts[gvk.Group+"/"+gvk.Kind] == "" && scripts[gvk.Group+"/*"] == "" {
			t.Errorf("%s of %s has no health script", gvk.Kind, gvk.Group)
		}
	}
}

func TestHealthOfEngineClass(t *testing.T) {
	script := read(t, classScript)
	class := func(generation int64, deleted bool, status, reason string) map[string]any {
		meta := map[string]any{"name": "big", "generation": generation}
		if deleted {
			meta["deletionTimestamp"] = "2026-11-21T10:00:00Z"
		}
		ready := map[string]any{"type": "Ready", "status": status, "reason": reason, "message": "of the operator", "observedGeneration": 2}
		return map[string]any{"kind": "FireboltEngineClass", "metadata": meta, "status": map[string]any{"conditions": []any{ready}}}
	}
	tests := map[string]struct {
		object map[string]any
		want   health
	}{
		"a valid class":            {class(2, false, "True", "Admissible"), health{healthy, "of the operator"}},
		"its template is rejected": {class(2, false, "False", "OperatorOwnedFieldSet"), health{degraded, "of the operator"}},
		"a new spec, not read":     {class(3, false, "True", "Admissible"), health{progressing, "The latest spec is not observed yet."}},
		"deleted":                  {class(2, true, "True", "Admissible"), health{progressing, "The object is being deleted."}},
		"deleted, but in use":      {class(2, true, "False", "DeletionBlocked"), health{progressing, "of the operator"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := run(t, script, tc.object); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
