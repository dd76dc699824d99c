package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// TestOpenAPIListsRoutesAndParameters compares both ways.
func TestOpenAPIListsRoutesAndParameters(t *testing.T) {
	doc, _ := openAPI(t)
	want := map[string][]string{http.MethodGet + " " + pathOpenAPI: nil}
	for _, r := range routes() {
		want[r.method+" "+r.path] = slices.Sorted(slices.Values(r.parameters))
	}
	got := map[string][]string{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			names := queryNames(append(append(openapi3.Parameters{}, item.Parameters...), operation.Parameters...))
			got[method+" "+path] = names
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-served +described):\n%s", diff)
	}
}

func queryNames(parameters openapi3.Parameters) []string {
	var names []string
	for _, p := range parameters {
		if p.Value.In == openapi3.ParameterInQuery {
			names = append(names, p.Value.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestOpenAPIListsKinds(t *testing.T) {
	doc, _ := openAPI(t)
	var got []string
	for _, v := range doc.Components.Parameters["plural"].Value.Schema.Value.Enum {
		got = append(got, v.(string))
	}
	slices.Sort(got)
	if diff := cmp.Diff(plurals(t), got); diff != "" {
		t.Errorf("plurals (-registered +described):\n%s", diff)
	}
}

func plurals(t *testing.T) []string {
	t.Helper()
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(kindsByPlural(kinds)))
}

// TestOpenAPIListsEnums compares the names in the document with those that are parsed.
func TestOpenAPIListsEnums(t *testing.T) {
	doc, _ := openAPI(t)
	schemas := doc.Components.Schemas
	for name, tc := range map[string]struct {
		got  *openapi3.SchemaRef
		want []string
	}{
		"operator":        {schemas["Criterion"].Value.Properties["operator"], criterionOperator.names[1:]},
		"logicalOperator": {schemas["Operation"].Value.Properties["logicalOperator"], logicalOperators.names},
		"dir":             {schemas["Query"].Value.Properties["orderBy"].Value.Items.Value.Properties["dir"], sortOrders.names[1:]},
	} {
		var got []string
		for _, v := range tc.got.Value.Enum {
			got = append(got, v.(string))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-read +described):\n%s", name, diff)
		}
	}
}

func TestOpenAPIIsServed(t *testing.T) {
	b := newEnv(t)
	var got map[string]any
	b.into(b.send(http.MethodGet, pathOpenAPI, ""), http.StatusOK, &got)
	served, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openapi3.NewLoader().LoadFromData(served); err != nil {
		t.Errorf("the served document is invalid: %v", err)
	}
}

// TestCallerRoles keeps config/rbac/api_role.yaml complete.
func TestCallerRoles(t *testing.T) {
	raw, err := os.Open("../../config/rbac/api_role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	decoder := utilyaml.NewYAMLOrJSONDecoder(raw, 4096)
	verbs := map[string]map[string]bool{"flotilla-ingester-api-reader": {}, "flotilla-ingester-api-deleter": {}}
	for range verbs {
		var role rbacv1.ClusterRole
		if err := decoder.Decode(&role); err != nil {
			t.Fatal(err)
		}
		resources := slices.Sorted(slices.Values(role.Rules[0].Resources))
		if diff := cmp.Diff(plurals(t), resources); diff != "" {
			t.Errorf("%s (-registered +granted):\n%s", role.Name, diff)
		}
		for _, verb := range role.Rules[0].Verbs {
			verbs[role.Name][verb] = true
		}
	}
	for _, r := range routes() {
		role := "flotilla-ingester-api-reader"
		if strings.HasPrefix(r.verb, "delete") {
			role = "flotilla-ingester-api-deleter"
		}
		if !verbs[role][r.verb] {
			t.Errorf("%s does not grant %s", role, r.verb)
		}
	}
}
