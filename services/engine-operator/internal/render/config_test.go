package render

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// Fields of config.yaml that the operator owns parse to the written values for any
// user configuration and any quoting.
func FuzzConfigKeepsOperatorFields(f *testing.F) {
	f.Add(`{"<<":{"schema_version":"9"},"instance":{"<<":{"id":"x"},"multi_engine":{"metadata_endpoint":"x:1"}}}`, `{}`)
	f.Add(`{"engine":{"nodes":[],"a: b":"#"},"yes":"no","1":1}`, `{"engine":7,"instance":null}`)
	f.Add(`{"logging":{"format":"text"},"big":9007199254740993,"text":"\n---\nschema_version: 9"}`, `{"endpoints":{"http":1}}`)
	f.Fuzz(func(t *testing.T, class, own string) {
		e := &v1alpha1.FireboltEngine{}
		e.Name, e.Namespace = "e", "n"
		c := &v1alpha1.FireboltEngineClass{}
		c.Spec.CustomEngineConfig = &apiextensionsv1.JSON{Raw: []byte(class)}
		e.Spec.CustomEngineConfig = &apiextensionsv1.JSON{Raw: []byte(own)}
		resolved, err := resolve.Resolve(e, c, 2)
		if err != nil {
			return
		}
		g, err := Of(Input{Engine: resolved, Images: images, Generation: 3, Instance: Instance{ID: "id", Endpoint: "m:7000"}})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := yaml.YAMLToJSONStrict([]byte(g.Config.Data["config.yaml"]))
		if err != nil {
			t.Fatalf("%v in:\n%s", err, g.Config.Data["config.yaml"])
		}
		var tree map[string]any
		if err := json.Unmarshal(raw, &tree); err != nil {
			t.Fatal(err)
		}
		instance, _ := tree["instance"].(map[string]any)
		engine, _ := tree["engine"].(map[string]any)
		want := map[string]any{
			"schema_version": "1.0", "endpoints": nil,
			"id": "id", "type": "multi_engine", "multi_engine": map[string]any{"metadata_endpoint": "m:7000"}, "auth": nil,
			"engine": "e", "grace": "50s", "nodes": []any{
				map[string]any{"host": "e-g3-0.e-g3-hl.n.svc.cluster.local"}, map[string]any{"host": "e-g3-1.e-g3-hl.n.svc.cluster.local"},
			},
		}
		have := map[string]any{
			"schema_version": tree["schema_version"], "endpoints": tree["endpoints"],
			"id": instance["id"], "type": instance["type"], "multi_engine": instance["multi_engine"], "auth": instance["auth"],
			"engine": engine["id"], "grace": engine["termination_grace_period"], "nodes": engine["nodes"],
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("sections of the operator (-want +got):\n%s", diff)
		}
	})
}
