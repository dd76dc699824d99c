package httpapi

import (
	"net/http"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// TestDocumentListsRoutes compares the documented routes with those of the server, in both directions.
func TestDocumentListsRoutes(t *testing.T) {
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"GET " + routeEvents, "GET " + statusapi.PathPage}
	for _, r := range routes() {
		want = append(want, "GET "+r.path)
	}
	var got []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			got = append(got, method+" "+path)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-served +described):\n%s", diff)
	}
}

func TestDocumentListsParameters(t *testing.T) {
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		statusapi.PathResources: {statusapi.ParamCondition, statusapi.ParamContinue, statusapi.ParamKind, statusapi.ParamLimit, statusapi.ParamNamespace},
		statusapi.PathEvents:    {statusapi.ParamKind, statusapi.ParamName, statusapi.ParamNamespace, statusapi.ParamSince},
		statusapi.PathResource:  {statusapi.ParamLimit},
	} {
		var got []string
		for _, p := range doc.Paths.Find(path).Get.Parameters {
			if p.Value.In == openapi3.ParameterInQuery {
				got = append(got, p.Value.Name)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: parameters (-read +described):\n%s", path, diff)
		}
	}
}

// TestDocumentListsKinds keeps the document and config/rbac/api_role.yaml complete.
func TestDocumentListsKinds(t *testing.T) {
	kinds, err := registry.Managed()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for _, v := range doc.Components.Schemas["Kind"].Value.Enum {
		described = append(described, v.(string))
	}
	role := roleOf(t, "../../config/rbac/api_role.yaml")
	for _, k := range kinds.Kinds() {
		if !slices.Contains(described, string(k.Token)) {
			t.Errorf("the document lacks %s", k.Token)
		}
		granted := false
		for _, rule := range role.Rules {
			granted = granted || slices.Contains(rule.APIGroups, k.GVK.Group) && slices.Contains(rule.Resources, k.Resource) &&
				slices.Contains(rule.Verbs, verbGet) && slices.Contains(rule.Verbs, verbList)
		}
		if !granted {
			t.Errorf("%s does not grant to get and list %s", role.Name, k.Resource)
		}
	}
}

// TestDocumentListsErrorCodes compares the documented error codes with those of the server.
func TestDocumentListsErrorCodes(t *testing.T) {
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for _, v := range doc.Components.Schemas["Error"].Value.Properties["code"].Value.Enum {
		described = append(described, v.(string))
	}
	var want []string
	for _, code := range codes {
		want = append(want, code)
	}
	slices.Sort(want)
	slices.Sort(described)
	if diff := cmp.Diff(want, described); diff != "" {
		t.Errorf("codes (-returned +documented):\n%s", diff)
	}
	if codes[http.StatusGone] != "Gone" {
		t.Error("410 has no name")
	}
}
